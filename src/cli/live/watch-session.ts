import { setTimeout as delay } from 'node:timers/promises';
import { terminalLine } from '../../core/text.ts';
import type { Host } from '../../host/host.ts';
import {
  isWorker,
  type WatchedAgent
} from '../../interfaces/board/watched-agent.ts';
import type { Watcher } from '../../interfaces/board/watcher.ts';
import { describeError } from '../commands/command-options.ts';
import { colorsFor } from '../output/output.ts';
import { shorten, widthOf } from '../output/text.ts';
import type { Interruption } from '../process/process-end.ts';
import {
  type Cancellation,
  cancellationOf,
  whyNoReply
} from './agent-actions.ts';
import { AgentList } from './agent-list.ts';
import { AgentText } from './agent-text.ts';
import { allowing, denying } from './ask-actions.ts';
import { DiffText } from './diff-text.ts';
import { EndAlert } from './end-alert.ts';
import { LineInput } from './line-input.ts';
import { FullScreen } from './screen/full-screen.ts';
import { type Size, toClipboard } from './screen/terminal.ts';
import { TextPager, type TextSource } from './text-pager.ts';
import { listHint, pagerKeys, watchHelp } from './watch-keys.ts';

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
  #input: LineInput | undefined;
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
      onPaste: (text) => this.#onPaste(text),
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
    if (this.#input) return this.#input.render(columns);
    if (this.#message !== '') return yellow(shorten(this.#message, columns));
    return dim(shorten(this.#hint(columns), columns));
  }

  #hint(columns: number): string {
    if (this.#isHelpOpen) return 'any key: back';
    const pager = this.#pager;
    if (!pager) {
      const { filter } = this.#list;
      const only = filter === '' ? '' : `only "${filter}" (Esc: all)  `;
      return `${only}${listHint(columns - widthOf(only))}`;
    }
    const follow = pager.isFollowing ? 'following  ' : '';
    return `${follow}${pager.position}  ${pagerKeys}`;
  }

  #onKey(key: string): void {
    this.#message = '';
    if (key === 'ctrl-z') this.#screen?.stop();
    else if (key === 'ctrl-c') this.#end.abort();
    else if (this.#question) this.#answer(key, this.#question);
    else if (this.#input) this.#type(key, this.#input);
    else if (this.#isHelpOpen) this.#isHelpOpen = false;
    else this.#command(key);
    if (!this.#end.signal.aborted) this.#screen?.draw();
  }

  /** Pasted text is no command. */
  #onPaste(text: string): void {
    this.#input?.add(text);
    this.#screen?.draw();
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
        if (!this.#pager) this.#filter();
        return;
      case 's':
        this.#list.isBySquad = !this.#list.isBySquad;
        return;
      case 'enter':
        this.#openText(false);
        return;
      case 'f':
        this.#openText(true);
        return;
    }
    const agent = this.#agent;
    if (agent) this.#commandFor(agent, key);
  }

  #commandFor(agent: WatchedAgent, key: string): void {
    switch (key) {
      case 'd':
        this.#open(new DiffText(this.#host, agent));
        return;
      case 'r':
        this.#reply(agent);
        return;
      case 'c':
        this.#take(cancellationOf(this.#host, agent));
        return;
      case 'a':
        this.#take(this.#allowing(agent));
        return;
      case 'x':
        this.#take(denying(this.#host, agent, (text) => this.#say(text)));
        return;
      case 'y':
        process.stdout.write(toClipboard(agent.id));
        this.#message = `Copied ${agent.id}.`;
        return;
    }
  }

  /** The agent of the open text, or the selected one. */
  get #agent(): WatchedAgent | undefined {
    const shown = this.#pager?.source.agent;
    if (!shown) return this.#list.selected;
    return this.#list.find(shown.id) ?? shown;
  }

  #openText(isFollowing: boolean): void {
    const pager = this.#pager;
    const agent = this.#agent;
    if (pager?.source instanceof AgentText)
      pager.isFollowing = isFollowing && !pager.isFollowing;
    else if (agent) this.#open(new AgentText(this.#host, agent), isFollowing);
  }

  #open(source: TextSource, isFollowing = false): void {
    const pager = new TextPager(source, isFollowing);
    this.#pager = pager;
    this.#perform(pager.refresh());
  }

  #filter(): void {
    const list = this.#list;
    list.filter = '';
    const onChange = (text: string) => {
      list.filter = text;
    };
    this.#input = new LineInput({ label: 'show only: ', onChange });
  }

  #reply(agent: WatchedAgent): void {
    const refusal = whyNoReply(agent);
    if (refusal !== undefined) {
      this.#message = refusal;
      return;
    }
    const onEnter = (text: string) => {
      if (text.trim() === '') this.#message = 'Nothing was sent.';
      else this.#perform(this.#continue(agent.id, text));
    };
    this.#input = new LineInput({ label: `reply to ${agent.id}: `, onEnter });
  }

  async #continue(agentId: string, prompt: string): Promise<void> {
    this.#say(`Starting an agent that continues ${agentId} …`);
    const { record, warning } = await this.#host.continue({ agentId, prompt });
    const { agent_id: id } = record;
    this.#pager = undefined;
    this.#list.selectNew(id);
    this.#say(`${id} continues ${agentId}. ${warning ?? ''}`);
  }

  #allowing(agent: WatchedAgent) {
    const isShown = this.#pager?.source instanceof AgentText;
    const columns = process.stdout.columns;
    const say = (text: string) => this.#say(text);
    return allowing(this.#host, agent, columns, isShown, say);
  }

  /** Asks a question or for a line of text, or says why there is none. */
  #take(step: Cancellation | LineInput | string): void {
    if (typeof step === 'string') this.#message = step;
    else if (step instanceof LineInput) this.#input = step;
    else this.#question = step;
  }

  #answer(key: string, { perform }: Cancellation): void {
    this.#question = undefined;
    if (key !== 'y' && key !== 'Y') this.#message = 'Nothing was changed.';
    else this.#perform(perform().then((text) => this.#say(text)));
  }

  #type(key: string, input: LineInput): void {
    if (input.onKey(key)) this.#input = undefined;
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
