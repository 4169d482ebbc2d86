import { setTimeout as delay } from 'node:timers/promises';
import type { Host } from '../../host.ts';
import { colorsFor } from '../output.ts';
import type { Interruption } from '../process-end.ts';
import { describeError } from '../shared.ts';
import { oneLine, shorten } from '../text.ts';
import { AgentList } from './agent-list.ts';
import { AgentText } from './agent-text.ts';
import { type Cancellation, cancellationOf } from './cancellation.ts';
import { FullScreen } from './full-screen.ts';
import type { Size } from './size.ts';
import { TextPager } from './text-pager.ts';
import { watchHelp } from './watch-help.ts';
import type { Watcher } from './watcher.ts';

const lookMs = 1000;
/** An open text is read more often than the list. */
const readMs = 400;

/** `troupe watch` on a terminal: what is shown, and what keys do. */
export class WatchSession {
  readonly #host: Host;
  readonly #watcher: Watcher;
  readonly #list = new AgentList();
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
  }

  /** Until somebody quits, or a signal comes. */
  async run({ signal }: Interruption): Promise<void> {
    const end = AbortSignal.any([signal, this.#end.signal]);
    const screen = new FullScreen({
      render: (size) => this.#render(size),
      onKey: (key) => this.#onKey(key),
      onMessage: (text) => this.#say(text)
    });
    this.#screen = screen;
    try {
      let looked = Number.NEGATIVE_INFINITY;
      while (!end.aborted) {
        if (performance.now() - looked >= lookMs) {
          looked = performance.now();
          await this.#look().catch((error: unknown) => this.#fail(error));
        }
        await this.#pager?.refresh();
        if (!end.aborted) screen.draw();
        const pause = this.#pager ? readMs : lookMs;
        await delay(pause, undefined, { signal: end }).catch(() => undefined);
      }
    } finally {
      screen.close();
    }
  }

  async #look(): Promise<void> {
    await this.#host.attend();
    this.#list.show(await this.#watcher.look());
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
    else this.#perform(perform().then((told) => this.#say(told)));
  }

  #type(key: string): void {
    const list = this.#list;
    if (key === 'enter' || key === 'escape') this.#isTyping = false;
    if (key === 'escape') list.filter = '';
    if (key === 'backspace')
      list.filter = [...list.filter].slice(0, -1).join('');
    if ([...key].length === 1) list.filter += key;
  }

  /** Does something while the screen goes on. */
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
    this.#message = oneLine(text);
  }
}
