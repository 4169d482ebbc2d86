import { visibleText } from '../../core/visible-text.ts';
import { colorsFor } from '../output.ts';
import { describeError } from '../shared.ts';
import { oneLine, shorten } from '../text.ts';
import type { AgentText } from './agent-text.ts';
import { moved } from './scrolling.ts';
import type { Size } from './size.ts';
import { wrappedLines } from './wrapped-lines.ts';

/** What an agent said, to be read page by page, or as it comes. */
export class TextPager {
  readonly source: AgentText;
  isFollowing: boolean;
  #title = '';
  #text = 'Reading …';
  #wrapped: { text: string; columns: number; lines: string[] } | undefined;
  #top = 0;
  #room = 1;
  #count = 0;
  #reading = Promise.resolve();

  constructor(source: AgentText, isFollowing: boolean) {
    this.source = source;
    this.isFollowing = isFollowing;
  }

  /** Reads on; one reading after the other. Never rejects. */
  refresh(): Promise<void> {
    this.#reading = this.#reading.then(async () => {
      try {
        const { title, text } = await this.source.read();
        this.#title = oneLine(title);
        this.#text = visibleText(text);
      } catch (error) {
        this.#text = describeError(error);
      }
    });
    return this.#reading;
  }

  /** `12-30 of 45`. */
  get position(): string {
    const last = Math.min(this.#count, this.#top + this.#room);
    return `${Math.min(this.#top + 1, last)}-${last} of ${this.#count}`;
  }

  /** True when the key scrolls. */
  onKey(key: string): boolean {
    const next = moved(key, this.#top, this.#room);
    if (next === undefined) return false;
    const last = Math.max(0, this.#count - this.#room);
    this.#top = Math.min(Math.max(0, next), last);
    // Who looks back wants to stay there.
    this.isFollowing = this.isFollowing && this.#top === last;
    return true;
  }

  render({ columns, rows }: Size): string[] {
    const { bold } = colorsFor(process.stdout);
    this.#room = Math.max(1, rows - 2);
    const lines = this.#lines(columns - 1);
    this.#count = lines.length;
    const last = Math.max(0, lines.length - this.#room);
    this.#top = this.isFollowing ? last : Math.min(this.#top, last);
    const shown = lines.slice(this.#top, this.#top + this.#room);
    return [bold(shorten(this.#title, columns - 1)), '', ...shown];
  }

  #lines(columns: number): string[] {
    const text = this.#text;
    const known = this.#wrapped;
    if (known?.text === text && known.columns === columns) return known.lines;
    const lines = wrappedLines(text, columns);
    this.#wrapped = { text, columns, lines };
    return lines;
  }
}
