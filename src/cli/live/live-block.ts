import type { WriteStream } from 'node:tty';
import { stripVTControlCharacters } from 'node:util';
import { widthOf } from '../text.ts';
import {
  clearBelow,
  clearRight,
  down,
  hideCursor,
  showCursor,
  up,
  wrapOff,
  wrapOn
} from './escapes.ts';
import { HeldTerminal } from './held-terminal.ts';
import { type Watched, watchWrites } from './outside-writes.ts';
import { type Size, sizeOf } from './size.ts';

/** The lines to show now; `beat` counts the looks, for what moves. */
export type Render = (beat: number, size: Size) => string[];

const beatMs = 100;

/**
 * Lines at the bottom of a terminal that change in place, on stderr. Whatever
 * is printed meanwhile goes above them and stays. They are drawn at most ten
 * times a second, and of them only those that changed.
 */
export class LiveBlock {
  readonly #render: Render;
  readonly #stream = process.stderr;
  readonly #terminal: HeldTerminal;
  readonly #watched: Watched[];
  readonly #write: (text: string) => void;
  readonly #timer: NodeJS.Timeout;
  #beat = 0;
  /** What stands there; the cursor is at the beginning of the line below. */
  #shown: string[] = [];
  #columns = sizeOf(this.#stream).columns;
  /** Somebody prints a line in pieces. */
  #isOpen = false;

  constructor(render: Render) {
    this.#render = render;
    this.#terminal = new HeldTerminal(this.#stream.fd, {
      take: () => hideCursor,
      leave: () => {
        const text = this.#erasing();
        this.#shown = [];
        return `${text}${showCursor}`;
      },
      resumed: () => this.#draw()
    });
    this.#watched = terminals().map((stream) =>
      watchWrites(
        stream,
        () => this.#erase(),
        (isOpen) => {
          this.#isOpen = isOpen;
          this.#draw();
        }
      )
    );
    this.#write = this.#watched.at(0)?.write ?? (() => undefined);
    this.#terminal.take();
    this.#timer = setInterval(() => this.#beatOnce(), beatMs);
    this.#timer.unref();
    this.#stream.on('resize', this.#resized);
  }

  /** Takes the block away. */
  close(): void {
    clearInterval(this.#timer);
    this.#stream.off('resize', this.#resized);
    this.#erase();
    for (const { release } of this.#watched) release();
    this.#terminal.giveBack();
  }

  #beatOnce(): void {
    this.#beat += 1;
    this.#draw();
  }

  #draw(isAnew = false): void {
    if (this.#isOpen) return;
    const size = sizeOf(this.#stream);
    const lines = this.#render(this.#beat, size);
    const text =
      lines.length === this.#shown.length && !isAnew
        ? changes(this.#shown, lines)
        : `${this.#erasing()}${lines.map((line) => `${line}\n`).join('')}`;
    this.#shown = lines;
    this.#columns = size.columns;
    if (text !== '') this.#write(`${wrapOff}${text}${wrapOn}`);
  }

  /** In one go, or people see it flicker. */
  readonly #resized = (): void => this.#draw(true);

  #erase(): void {
    if (this.#shown.length > 0) this.#write(this.#erasing());
    this.#shown = [];
  }

  #erasing(): string {
    // In a terminal that is narrower by now, one line may have become two.
    const width = Math.min(this.#columns, sizeOf(this.#stream).columns);
    const rows = this.#shown.map((line) =>
      Math.max(1, Math.ceil(widthOf(stripVTControlCharacters(line)) / width))
    );
    const height = rows.reduce((sum, count) => sum + count, 0);
    return height === 0 ? '' : `${up(height)}\r${clearBelow}`;
  }
}

/** stderr, where the block is, and stdout where it is on a screen, too. */
function terminals(): WriteStream[] {
  return [process.stderr, process.stdout].filter((stream) => stream.isTTY);
}

function changes(before: string[], lines: string[]): string {
  return lines
    .map((line, index) => {
      if (line === before[index]) return '';
      const distance = lines.length - index;
      return `${up(distance)}\r${line}${clearRight}\r${down(distance)}`;
    })
    .join('');
}
