import { setTimeout as delay } from 'node:timers/promises';
import type { Worker } from '../../core/orchestrator/queue/worker-store.ts';
import type { Host } from '../../host/host.ts';
import { describeError } from '../commands/command-options.ts';
import { colorsFor } from '../output/output.ts';
import { shorten, terminalLine } from '../output/text.ts';
import type { Interruption } from '../process/process-end.ts';
import { AgentList } from './agent-list.ts';
import { AgentText } from './agent-text.ts';
import { EndAlert } from './end-alert.ts';
import { FullScreen } from './screen/full-screen.ts';
import type { Size } from './screen/terminal.ts';
import { TextPager } from './text-pager.ts';
import { isWorker, type WatchedAgent } from './watched-agent.ts';
import type { Watcher } from './watcher.ts';

/** The interval at which the list is read. */
const listMs = 1000;
/** The interval at which an open text is read. */
const readMs = 400;

/** `troupe watch` on a terminal: renders the screen and handles keys. */
export class WatchSession {
  readonly #host: Host;
  readonly #watcher: Watcher;
  readonly #list = new AgentList();
  readonly #alert: EndAlert;
  readonly #end = new AbortController();
  #screen: FullScreen | undefined;
  #pager: TextPager | undefined;
  #isHelpOpen = false;
  #isTyping = false;
  #question: Cancellation | undefined;
  #message = '';

  constructor(host: Host, watcher: Watcher) {
    this.#host = host;
    this.#watcher = watcher;
    this.#alert = new EndAlert(host.config.onEnd, process.stdout);
  }

  /** Resolves when the user quits or the process gets a signal. */
  async run({ signal }: Interruption): Promise<void> {
    const end = AbortSignal.any([signal, this.#end.signal]);
    const screen = new FullScreen({
      render: (size) => this.#render(size),
      onKey: (key) => this.#onKey(key),
      onMessage: (text) => this.#say(text)
    });
    this.#screen = screen;
    try {
      let readAt = Number.NEGATIVE_INFINITY;
      while (!end.aborted) {
        if (performance.now() - readAt >= listMs) {
          readAt = performance.now();
          await this.#refresh().catch((error: unknown) => this.#fail(error));
        }
        await this.#pager?.refresh();
        if (!end.aborted) screen.draw();
        const pause = this.#pager ? readMs : listMs;
        await delay(pause, undefined, { signal: end }).catch(() => undefined);
      }
    } finally {
      screen.close();
    }
  }

  async #refresh(): Promise<void> {
    await this.#host.attend();
    const snapshot = await this.#watcher.read();
    this.#list.show(snapshot);
    this.#alert.report(
      snapshot.agents.flatMap(({ of }) => (isWorker(of) ? [] : [of]))
    );
  }

  #render(size: Size): string[] {
    const { columns, rows } = size;
    const body = { columns, rows: rows - 1 };
    const lines = this.#isHelpOpen
      ? watchHelp
      : (this.#pager ?? this.#list).render(body);
    const above = Array.from(
      { length: body.rows },
      (_, row) => lines[row] ?? ''
    );
    return [...above, this.#lastLine(columns - 1)];
  }

  #lastLine(columns: number): string {
    const { dim, yellow } = colorsFor(process.stdout);
    if (this.#question)
      return yellow(shorten(`${this.#question.question} y/n`, columns));
    if (this.#isTyping)
      return shorten(`show only: ${this.#list.filter}_`, columns);
    if (this.#message !== '') return yellow(shorten(this.#message, columns));
    return dim(shorten(this.#hint(), columns));
  }

  #hint(): string {
    if (this.#isHelpOpen) return 'any key: back';
    const pager = this.#pager;
    if (!pager) {
      const { filter } = this.#list;
      const only = filter === '' ? '' : `only "${filter}" (Esc: all)  `;
      return `${only}↑↓ select  Enter open  f follow  c cancel  / find  ? help  q quit`;
    }
    const follow = pager.isFollowing ? 'following  ' : '';
    return `${follow}${pager.position}  ↑↓ scroll  f follow  c cancel  q back`;
  }

  #onKey(key: string): void {
    this.#message = '';
    if (key === 'ctrl-z') this.#screen?.stop();
    else if (key === 'ctrl-c') this.#end.abort();
    else if (this.#question) this.#answer(key, this.#question);
    else if (this.#isTyping) this.#type(key);
    else if (this.#isHelpOpen) this.#isHelpOpen = false;
    else this.#command(key);
    if (!this.#end.signal.aborted) this.#screen?.draw();
  }

  #command(key: string): void {
    if ((this.#pager ?? this.#list).onKey(key)) return;
    switch (key) {
      case 'q':
        if (!this.#pager) this.#end.abort();
        this.#pager = undefined;
        return;
      case 'escape':
        if (!this.#pager) this.#list.filter = '';
        this.#pager = undefined;
        return;
      case '?':
        this.#isHelpOpen = true;
        return;
      case '/':
        this.#isTyping = !this.#pager;
        return;
      case 'enter':
        this.#open(false);
        return;
      case 'f':
        this.#open(true);
        return;
      case 'c':
        this.#ask();
        return;
    }
  }

  #open(isFollowing: boolean): void {
    if (this.#pager) {
      this.#pager.isFollowing = isFollowing && !this.#pager.isFollowing;
      return;
    }
    const agent = this.#list.selected;
    if (!agent) return;
    const text = new AgentText(this.#host, agent);
    const pager = new TextPager(text, isFollowing);
    this.#pager = pager;
    this.#perform(pager.refresh());
  }

  #ask(): void {
    const agent = this.#pager?.source.agent ?? this.#list.selected;
    if (!agent) return;
    const found = cancellationOf(this.#host, agent);
    if (typeof found === 'string') this.#message = found;
    else this.#question = found;
  }

  #answer(key: string, { perform }: Cancellation): void {
    this.#question = undefined;
    if (key !== 'y' && key !== 'Y') this.#message = 'Nothing was changed.';
    else this.#perform(perform().then((text) => this.#say(text)));
  }

  #type(key: string): void {
    const list = this.#list;
    if (key === 'enter' || key === 'escape') this.#isTyping = false;
    if (key === 'escape') list.filter = '';
    if (key === 'backspace')
      list.filter = [...list.filter].slice(0, -1).join('');
    if ([...key].length === 1) list.filter += key;
  }

  /** Runs in the background, and redraws the screen afterwards. */
  #perform(work: Promise<void>): void {
    work
      .catch((error: unknown) => this.#fail(error))
      .finally(() => {
        if (!this.#end.signal.aborted) this.#screen?.draw();
      });
  }

  #fail(error: unknown): void {
    this.#say(describeError(error));
  }

  #say(text: string): void {
    this.#message = terminalLine(text);
  }
}

/** A question to the user, and the call that cancels after a yes. */
interface Cancellation {
  question: string;
  /** Resolves to a sentence about the result. */
  perform: () => Promise<string>;
}

const taskWidth = 30;

/** For an agent or a worker's task; a text if there is nothing to cancel. */
function cancellationOf(
  host: Host,
  { id, of, isActive, task, state }: WatchedAgent
): Cancellation | string {
  if (isWorker(of)) return taskCancellation(host, of);
  if (!isActive) return `${id} has ended already (${state}).`;
  return {
    question: `Cancel ${id} (${shorten(task, taskWidth)})?`,
    perform: async () => {
      const run = await host.cancel(id, 'from troupe watch');
      return run ? `${id} is ${run.status}.` : `${id} is not there any more.`;
    }
  };
}

function taskCancellation(
  { orchestrator }: Host,
  { meta, log }: Worker
): Cancellation | string {
  const name = terminalLine(meta.name);
  const { running } = log.read();
  if (!running)
    return `Worker ${name} has no task to cancel; the tool agent_delete ends a worker.`;
  const task = terminalLine(running.id);
  return {
    question: `Cancel task ${task} of worker ${name}?`,
    perform: async () => {
      await orchestrator.cancel(meta.agent_id, running.id);
      return `Worker ${name} was asked to give up task ${task}.`;
    }
  };
}

/** The help that `?` shows. docs/guides/command-line.md has the same keys. */
const watchHelp = [
  'troupe watch shows the agents and workers of this workspace, whoever started',
  'them: those at work, workers, and those that ended last.',
  '',
  '  up, down, j, k        select an agent; in a text, scroll',
  '  PgUp, PgDn, b, space  a page',
  '  Home, End, g, G       to the first, to the last',
  '  Enter                 open: what it said; a result that is shown was read',
  '  f                     follow: what it does and says, as it comes',
  '  c                     cancel it, after a question; of a worker, its task',
  '  /                     show only agents that have some words; Esc shows all',
  '  q, Esc                back; q in the list ends troupe watch',
  '',
  'STATE is green for done, red for failed, yellow for at work, out of time or',
  'interrupted. LINES counts what it added and removed, seen by git when it ended.',
  'COST is in US dollars; "-" is not known. Agents go on when you quit.'
];
