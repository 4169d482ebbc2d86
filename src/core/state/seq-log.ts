import { closeSync, fstatSync, readSync, statSync } from 'node:fs';
import { errnoOf } from '../errors.ts';
import { openRegular, ownReadFlags } from './regular-file.ts';

/** A line of a log: numbers only grow from one line to the next. */
export interface Numbered {
  seq: number;
}

/** What is longer is none of our lines, and is passed over unread. */
const longestLine = 1024 * 1024;
const blockBytes = 64 * 1024;

export type Parse<Entry> = (value: unknown) => Entry | undefined;

interface Found<Entry> {
  entry: Entry;
  /** The byte behind its line. */
  end: number;
}

export interface Delta<Entry> {
  entries: Entry[];
  /** There are others behind them that had no room. */
  more: boolean;
}

/**
 * Reads a JSONL file whose lines are numbered, at a cost that does not grow
 * with its length: a place is found by halving. Lines that cannot be read,
 * and a last one without its end, are passed over. Reading takes no lock.
 */
export class SeqLog<Entry extends Numbered> {
  readonly path: string;
  readonly #parse: Parse<Entry>;

  constructor(path: string, parse: Parse<Entry>) {
    this.path = path;
    this.#parse = parse;
  }

  /** Bytes; 0 when there is no file. */
  size(): number {
    return statSync(this.path, { throwIfNoEntry: false })?.size ?? 0;
  }

  /** Changes whenever the file does. */
  stamp(): string {
    const file = statSync(this.path, { throwIfNoEntry: false, bigint: true });
    return file ? `${file.ino} ${file.size} ${file.mtimeNs}` : '';
  }

  /**
   * The lines from a place on, each with where it ends.
   * @param from a byte at which a line begins
   * @param each false ends the reading
   * @returns the byte behind the last whole line that was looked at
   */
  read(
    from: number,
    each: (entry: Entry | undefined, end: number) => boolean | undefined
  ): number {
    return this.#open(from, (descriptor, size) => {
      let at = from;
      forEachLine(descriptor, from, size, (line, end) => {
        at = end;
        return each(this.#entryOf(line), end) ?? true;
      });
      return at;
    });
  }

  /** Those after a number: as many as there is room for, one at least. */
  since(seq: number, room: { entries: number; chars: number }): Delta<Entry> {
    const entries: Entry[] = [];
    let chars = 0;
    let more = false;
    this.read(this.#offsetAfter(seq), (entry) => {
      if (!entry || entry.seq <= seq) return true;
      chars += JSON.stringify(entry).length + 1;
      more =
        entries.length >= room.entries ||
        (entries.length > 0 && chars > room.chars);
      if (!more) entries.push(entry);
      return !more;
    });
    return { entries, more };
  }

  /** The last ones, oldest first; those before so many characters may lack. */
  tail(count: number, chars = Number.POSITIVE_INFINITY): Entry[] {
    if (count <= 0) return [];
    for (let bytes = blockBytes; ; bytes *= 4) {
      const size = this.size();
      const start = Math.max(0, size - bytes);
      const entries: Entry[] = [];
      let held = 0;
      this.read(start === 0 ? 0 : this.#lineAfter(start), (entry) => {
        if (!entry) return true;
        entries.push(entry);
        held += JSON.stringify(entry).length;
        return true;
      });
      if (start === 0 || entries.length >= count || held >= chars)
        return entries.slice(-count);
    }
  }

  /** The highest number; 0 when there is no line. */
  lastSeq(): number {
    return this.tail(1)[0]?.seq ?? 0;
  }

  /** Where the first line above a number begins, or a little before. */
  #offsetAfter(seq: number): number {
    return this.#open(0, (descriptor, size) => {
      const lastBlock = Math.max(0, size - blockBytes);
      const last = this.#lineIn(descriptor, lastBlock, size);
      // Who follows a log asks for its end.
      if (lastBlock === 0 || (last && last.entry.seq <= seq))
        return lastBlock === 0 ? 0 : (last?.end ?? 0);
      let low = 0;
      let high = lastBlock;
      while (high - low > blockBytes) {
        const middle = low + Math.floor((high - low) / 2);
        const found = this.#lineIn(descriptor, middle, high);
        if (found && found.entry.seq <= seq) low = found.end;
        else high = middle;
      }
      return low;
    });
  }

  /** The first readable line that begins behind a byte and before another. */
  #lineIn(
    descriptor: number,
    from: number,
    to: number
  ): Found<Entry> | undefined {
    let found: Found<Entry> | undefined;
    let isFirst = from > 0;
    forEachLine(descriptor, from, to, (line, end) => {
      const entry = isFirst ? undefined : this.#entryOf(line);
      isFirst = false;
      if (entry) found = { entry, end };
      return found === undefined;
    });
    return found;
  }

  #lineAfter(byte: number): number {
    return this.#open(byte, (descriptor, size) => {
      let start = size;
      forEachLine(descriptor, byte, size, (_, end) => {
        start = end;
        return false;
      });
      return start;
    });
  }

  #entryOf(line: string | undefined): Entry | undefined {
    if (line === undefined || line === '') return undefined;
    try {
      return this.#parse(JSON.parse(line));
    } catch {
      return undefined;
    }
  }

  #open(none: number, work: (descriptor: number, size: number) => number) {
    let descriptor: number;
    try {
      descriptor = openRegular(this.path, ownReadFlags);
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return none;
      throw error;
    }
    try {
      return work(descriptor, fstatSync(descriptor).size);
    } finally {
      closeSync(descriptor);
    }
  }
}

/**
 * Whole lines between two bytes, in bounded memory.
 * @param each the line, or undefined for one that is too long to be ours;
 *   false ends it
 */
function forEachLine(
  descriptor: number,
  from: number,
  to: number,
  each: (line: string | undefined, end: number) => boolean
): void {
  const block = Buffer.allocUnsafe(blockBytes);
  let parts: Buffer[] = [];
  let held = 0;
  for (let at = from; at < to; ) {
    const length = Math.min(blockBytes, to - at);
    const count = readSync(descriptor, block, 0, length, at);
    if (count === 0) return;
    let start = 0;
    for (;;) {
      const newline = block.subarray(0, count).indexOf(10, start);
      if (newline < 0) break;
      const bytes = block.subarray(start, newline);
      const isLong = held + bytes.length > longestLine;
      const line = isLong
        ? undefined
        : Buffer.concat([...parts, bytes]).toString();
      parts = [];
      held = 0;
      start = newline + 1;
      if (!each(line, at + start)) return;
    }
    const rest = block.subarray(start, count);
    held += rest.length;
    if (held > longestLine) parts = [];
    else parts.push(Buffer.from(rest));
    at += count;
  }
}
