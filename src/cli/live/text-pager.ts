import { terminalLine, visibleText } from '../../core/text.ts';
import type { WatchedAgent } from '../../interfaces/board/watched-agent.ts';
import { describeError } from '../commands/command-options.ts';
import { colorsFor } from '../output/output.ts';
import { shorten, wrappedLines } from '../output/text.ts';
import type { Size } from './screen/terminal.ts';

export interface TitledText {
  title: string;
  text: string;
  /** Colors a line. */
  color?: (line: string) => string;
}

/** A text about an agent. */
export interface TextSource {
  readonly agent: WatchedAgent;
  read: () => Promise<TitledText>;
}

/** The text of an agent, page by page or following its end. */
export class TextPager {
  readonly source: TextSource;
  isFollowing: boolean;
  #title = '';
  #text = 'Reading …';
  #color: (line: string) => string = String;
  #wrapped: { text: string; columns: number; lines: string[] } | undefined;
  #top = 0;
  #room = 1;
  #count = 0;
  #reading = Promise.resolve();

  constructor(source: TextSource, isFollowing: boolean) {
    this.source = source;
    this.isFollowing = isFollowing;
  }

  /** Reads the text again. Calls run one after another and never reject. */
  refresh(): Promise<void> {
    this.#reading = this.#reading.then(async () => {
      try {
        const { title, text, color } = await this.source.read();
        this.#title = terminalLine(title);
        this.#text = visibleText(text);
        this.#color = color ?? String;
      } catch (error) {
        this.#text = describeError(error);
      }
    });
    return this.#reading;
  }

  /** The visible lines: `12-30 of 45`. */
  get position(): string {
    const last = Math.min(this.#count, this.#top + this.#room);
    return `${Math.min(this.#top + 1, last)}-${last} of ${this.#count}`;
  }

  /** @returns whether the key scrolls */
  onKey(key: string): boolean {
    const next = moved(key, this.#top, this.#room);
    if (next === undefined) return false;
    const last = Math.max(0, this.#count - this.#room);
    this.#top = Math.min(Math.max(0, next), last);
    // Scrolling back ends following.
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
    return [
      bold(shorten(this.#title, columns - 1)),
      '',
      ...shown.map((line) => this.#color(line))
    ];
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

/**
 * The line or row that a key moves to from `index`, without bounds; undefined
 * for other keys.
 */
export function moved(
  key: string,
  index: number,
  page: number
): number | undefined {
  switch (key) {
    case 'up':
    case 'k':
      return index - 1;
    case 'down':
    case 'j':
      return index + 1;
    case 'page-up':
    case 'b':
      return index - page;
    case 'page-down':
    case ' ':
      return index + page;
    case 'home':
    case 'g':
      return 0;
    case 'end':
    case 'G':
      return Number.MAX_SAFE_INTEGER;
    default:
      return undefined;
  }
}

/** The first line to show: `top`, moved until `index` is visible. */
export function windowOf(
  index: number,
  top: number,
  room: number,
  count: number
): number {
  const last = Math.max(0, count - room);
  const least = index - room + 1;
  return Math.max(0, Math.min(Math.max(top, least), Math.max(0, index), last));
}
