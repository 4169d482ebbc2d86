import { closeSync, fstatSync, readSync, statSync } from 'node:fs';
import { errnoOf } from '../../errors.ts';
import { openRegular, ownReadFlags } from '../files/regular-file.ts';
import { sizeOf } from '../files/text-file.ts';

/** An entry of a log; `seq` increases from line to line. */
export interface Numbered {
  seq: number;
}

/** No writer produces longer lines; they are skipped without parsing. */
const longestLine = 1024 * 1024;
const blockBytes = 64 * 1024;

type Parse<Entry> = (value: unknown) => Entry | undefined;

interface Delta<Entry> {
  entries: Entry[];
  /** True when further entries exceeded the limits. */
  more: boolean;
}

/**
 * Reads a JSONL file of numbered lines. It finds a number by binary search, so
 * the cost is logarithmic in the file size. Lines that cannot be parsed and a
 * last line without newline are skipped. Reading takes no lock.
 */
export class SeqLog<Entry extends Numbered> {
  readonly path: string;
  readonly #parse: Parse<Entry>;

  constructor(path: string, parse: Parse<Entry>) {
    this.path = path;
    this.#parse = parse;
  }

  /** The size in bytes; 0 when the file does not exist. */
  size(): number {
    return sizeOf(this.path);
  }

  /** A string that changes whenever the file is written or replaced. */
  stamp(): string {
    const file = statSync(this.path, { throwIfNoEntry: false, bigint: true });
    return file ? `${file.ino} ${file.size} ${file.mtimeNs}` : '';
  }

  /**
   * Passes on the lines after an offset, each with the offset of its end.
   * @param from offset of the beginning of a line
   * @param each receives undefined for an invalid line; returns false to stop
   * @returns the offset after the last complete line that was read
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

  /** The entries after a number within the limits, but at least one. */
  since(seq: number, limits: { entries: number; chars: number }): Delta<Entry> {
    const entries: Entry[] = [];
    let chars = 0;
    let more = false;
    this.read(this.#offsetAfter(seq), (entry) => {
      if (!entry || entry.seq <= seq) return true;
      chars += JSON.stringify(entry).length + 1;
      more =
        entries.length >= limits.entries ||
        (entries.length > 0 && chars > limits.chars);
      if (!more) entries.push(entry);
      return !more;
    });
    return { entries, more };
  }

  /** The last entries, oldest first; stops early after `chars` of JSON. */
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

  /** The highest number; 0 for an empty log. */
  lastSeq(): number {
    return this.tail(1)[0]?.seq ?? 0;
  }

  /** The offset of a line at or shortly before the first one above a number. */
  #offsetAfter(seq: number): number {
    return this.#open(0, (descriptor, size) => {
      const lastBlock = Math.max(0, size - blockBytes);
      const last = this.#lineIn(descriptor, lastBlock, size);
      // Fast path: a client that tails the log needs only its end.
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

  /** The first valid line that begins between two offsets. */
  #lineIn(descriptor: number, from: number, to: number) {
    let found: { entry: Entry; end: number } | undefined;
    let isFirst = from > 0;
    forEachLine(descriptor, from, to, (line, end) => {
      const entry = isFirst ? undefined : this.#entryOf(line);
      isFirst = false;
      if (entry) found = { entry, end };
      return found === undefined;
    });
    return found;
  }

  /** The offset of the first line that begins after a byte. */
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

  #open(
    whenMissing: number,
    work: (descriptor: number, size: number) => number
  ) {
    let descriptor: number;
    try {
      descriptor = openRegular(this.path, ownReadFlags);
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return whenMissing;
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
 * Passes on the complete lines between two offsets, in bounded memory.
 * @param each receives undefined for a line above the limit; false stops
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
