import { readSync } from 'node:fs';

export interface LineBack {
  /** Offset in bytes of the line in the file. */
  start: number;
  /** Its length in bytes, without the newline. */
  bytes: number;
  /** Empty for a line above the limit. */
  text: string;
}

/** Small, because the newest lines are often all that is needed. */
const firstBytes = 32 * 1024;
const mostBytes = 256 * 1024;

/**
 * The lines of an open file from an offset back to its beginning, the last one
 * first. Memory is bounded: at most one line of `maximumLineBytes` is held, and
 * the text of a longer one is empty.
 */
export function* linesBack(
  descriptor: number,
  end: number,
  maximumLineBytes: number
): Generator<LineBack> {
  const rest = new LineEnd(maximumLineBytes);
  let size = firstBytes;
  for (let position = end; position > 0; size = mostBytes) {
    const from = Math.max(0, position - size);
    const block = readBlock(descriptor, from, position - from);
    let lineEnd = block.length;
    while (lineEnd > 0) {
      const newline = block.lastIndexOf(10, lineEnd - 1);
      if (newline < 0) break;
      yield rest.take(block.subarray(newline + 1, lineEnd), from + newline + 1);
      lineEnd = newline;
    }
    // Copied, or the whole block would stay in memory.
    rest.keep(Buffer.from(block.subarray(0, lineEnd)));
    position = from;
  }
  if (end > 0) yield rest.take(Buffer.alloc(0), 0);
}

/** The offset after the newline that ends the line of a byte, or the size. */
export function lineEndAt(
  descriptor: number,
  offset: number,
  size: number
): number {
  for (let position = offset; position < size; position += firstBytes) {
    const length = Math.min(firstBytes, size - position);
    const newline = readBlock(descriptor, position, length).indexOf(10);
    if (newline >= 0) return position + newline + 1;
  }
  return size;
}

function readBlock(descriptor: number, from: number, length: number): Buffer {
  const block = Buffer.allocUnsafe(length);
  let read = 0;
  while (read < length) {
    const bytes = readSync(descriptor, block, read, length - read, from + read);
    // The file was truncated meanwhile.
    if (bytes === 0) break;
    read += bytes;
  }
  return block.subarray(0, read);
}

/** The end of a line whose beginning is in an earlier block. */
class LineEnd {
  readonly #maximumBytes: number;
  #parts: Buffer[] = [];
  #bytes = 0;

  constructor(maximumBytes: number) {
    this.#maximumBytes = maximumBytes;
  }

  keep(part: Buffer): void {
    this.#bytes += part.length;
    if (this.#bytes > this.#maximumBytes) this.#parts = [];
    else if (part.length > 0) this.#parts.push(part);
  }

  /** The line that begins with `first`. */
  take(first: Buffer, start: number): LineBack {
    this.keep(first);
    const bytes = this.#bytes;
    const text =
      bytes > this.#maximumBytes
        ? ''
        : Buffer.concat(this.#parts.reverse()).toString('utf8');
    this.#parts = [];
    this.#bytes = 0;
    return { start, bytes, text };
  }
}
