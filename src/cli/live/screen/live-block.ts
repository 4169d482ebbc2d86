import type { WriteStream } from 'node:tty';
import { stripVTControlCharacters } from 'node:util';
import { widthOf } from '../../output/text.ts';
import {
  clearBelow,
  clearRight,
  down,
  HeldTerminal,
  hideCursor,
  type Size,
  showCursor,
  sizeOf,
  up,
  wrapOff,
  wrapOn
} from './terminal.ts';

/** Returns the lines to show; `frame` counts timer ticks, for spinners. */
type Render = (frame: number, size: Size) => string[];

const frameMs = 100;

/**
 * Lines at the bottom of a terminal that change in place, on stderr. Other
 * output appears above them and stays. Changed lines are drawn ten times a
 * second.
 */
export class LiveBlock {
  readonly #render: Render;
  readonly #stream = process.stderr;
  readonly #terminal: HeldTerminal;
  readonly #watched: WatchedStream[];
  readonly #write: (text: string) => void;
  readonly #timer: NodeJS.Timeout;
  #frame = 0;
  /** The lines on the screen; the cursor is on the line below. */
  #shown: string[] = [];
  #columns = sizeOf(this.#stream).columns;
  /** Whether other code has written a line without a newline. */
  #isLineOpen = false;

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
          this.#isLineOpen = isOpen;
          this.#draw();
        }
      )
    );
    this.#write = this.#watched.at(0)?.write ?? (() => undefined);
    this.#terminal.take();
    this.#timer = setInterval(() => this.#tick(), frameMs);
    this.#timer.unref();
    this.#stream.on('resize', this.#resized);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#stream.off('resize', this.#resized);
    this.#erase();
    for (const { release } of this.#watched) release();
    this.#terminal.release();
  }

  #tick(): void {
    this.#frame += 1;
    this.#draw();
  }

  #draw(isResized = false): void {
    if (this.#isLineOpen) return;
    const size = sizeOf(this.#stream);
    const lines = this.#render(this.#frame, size);
    const text =
      lines.length === this.#shown.length && !isResized
        ? changes(this.#shown, lines)
        : `${this.#erasing()}${lines.map((line) => `${line}\n`).join('')}`;
    this.#shown = lines;
    this.#columns = size.columns;
    if (text !== '') this.#write(`${wrapOff}${text}${wrapOn}`);
  }

  /** Erases and draws in one write, so that the block does not flicker. */
  readonly #resized = (): void => this.#draw(true);

  #erase(): void {
    if (this.#shown.length > 0) this.#write(this.#erasing());
    this.#shown = [];
  }

  #erasing(): string {
    // If the terminal has become narrower, a line may have become two.
    const width = Math.min(this.#columns, sizeOf(this.#stream).columns);
    const rows = this.#shown.map((line) =>
      Math.max(1, Math.ceil(widthOf(stripVTControlCharacters(line)) / width))
    );
    const height = rows.reduce((sum, count) => sum + count, 0);
    return height === 0 ? '' : `${up(height)}\r${clearBelow}`;
  }
}

/** stderr, which has the block, and stdout if it is a terminal, too. */
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

interface WatchedStream {
  /** Writes without calling `before` and `after`. */
  write: (text: string) => void;
  release: () => void;
}

/**
 * Calls `before` and `after` around the writes of other code to a stream.
 * @param after gets whether the last line lacks a newline
 */
function watchWrites(
  stream: WriteStream,
  before: () => void,
  after: (isOpen: boolean) => void
): WatchedStream {
  const own = stream.write;
  const write = (text: string) => {
    Reflect.apply(own, stream, [text]);
  };
  stream.write = new Proxy(own, {
    apply: (target, _, args: unknown[]) => {
      before();
      const isTaken: unknown = Reflect.apply(target, stream, args);
      const text = stripVTControlCharacters(String(args[0] ?? ''));
      // An empty write only asks for a callback after earlier writes.
      after(text !== '' && !text.endsWith('\n'));
      return isTaken;
    }
  });
  return {
    write,
    release: () => {
      stream.write = own;
    }
  };
}
