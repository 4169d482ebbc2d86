import { isAscii, isUtf8 } from 'node:buffer';
import { closeSync, fstatSync, lstatSync, readSync, statSync } from 'node:fs';
import { setImmediate as yieldTurn } from 'node:timers/promises';
import { absentUnlessLimited } from '../../errors.ts';
import { KnownFiles } from './known-files.ts';
import {
  openRegular,
  openRegularAsync,
  ownReadFlags,
  readRegular,
  streamRegular
} from './regular-file.ts';

const mostChunkBytes = 256 * 1024;

export interface TextSlice {
  text: string;
  /** The length of the whole text in UTF-16 units. */
  totalChars: number;
}

export interface TextEnds {
  head: string;
  tail: string;
  /** The length of the whole text in UTF-16 units. */
  totalChars: number;
}

/**
 * Reads part of a text file in bounded memory; offset and length are UTF-16
 * units. Invalid UTF-8 is read as U+FFFD. A slice that would end inside a
 * surrogate pair ends before it, so that successive slices add up to the text.
 */
export async function readSlice(
  path: string,
  offset: number,
  length: number
): Promise<TextSlice> {
  let position = 0;
  let text = '';
  for await (const chunk of textChunks(path)) {
    const from = Math.max(0, offset - position);
    const room = length - text.length;
    if (room > 0 && from < chunk.length) text += chunk.slice(from, from + room);
    position += chunk.length;
  }
  const more = offset + text.length < position;
  if (more && text.length > 1) text = withoutLastHalf(text);
  return { text: wellFormed(text), totalChars: position };
}

/**
 * Reads the head and the tail of a text file in bounded memory. When text
 * between them is omitted, neither contains half of a surrogate pair. With a
 * known length, only the ends of a large file are read.
 */
export async function readEnds(
  path: string,
  headChars: number,
  tailChars: number,
  knownChars?: number
): Promise<TextEnds> {
  if (knownChars !== undefined && sizeOf(path) > 4 * (headChars + tailChars))
    return farEnds(path, headChars, tailChars, knownChars);
  let head = '';
  let tail = '';
  let totalChars = 0;
  for await (const chunk of textChunks(path)) {
    totalChars += chunk.length;
    let rest = chunk;
    if (head.length < headChars) {
      const taken = rest.slice(0, headChars - head.length);
      head += taken;
      rest = rest.slice(taken.length);
    }
    tail += rest;
    if (tail.length > 2 * tailChars + 65_536) tail = tail.slice(-tailChars);
  }
  tail = tailChars > 0 ? tail.slice(-tailChars) : '';
  return totalChars > head.length + tail.length
    ? { head: withoutLastHalf(head), tail: withoutFirstHalf(tail), totalChars }
    : { head, tail, totalChars };
}

/**
 * Reads four bytes per UTF-16 unit at each end, the maximum in UTF-8, and a
 * few more for a character that starts before the block.
 */
function farEnds(
  path: string,
  headChars: number,
  tailChars: number,
  totalChars: number
): TextEnds {
  const first = headOf(path, 4 * headChars).slice(0, headChars);
  const last = tailOf(path, 4 * tailChars + 16);
  return {
    head: withoutLastHalf(first),
    tail: withoutFirstHalf(tailChars > 0 ? last.slice(-tailChars) : ''),
    totalChars
  };
}

function withoutLastHalf(text: string): string {
  return text.replace(/[\ud800-\udbff]$/, '');
}

function withoutFirstHalf(text: string): string {
  return text.replace(/^[\udc00-\udfff]/, '');
}

/** Replaces half of a surrogate pair with U+FFFD: UTF-8 cannot encode it. */
function wellFormed(text: string): string {
  return /^[\udc00-\udfff]|[\ud800-\udbff]$/.test(text)
    ? Buffer.from(text).toString('utf8')
    : text;
}

/** The size of a file in bytes; 0 when it does not exist. */
export function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** The last bytes of a text file; empty when it cannot be read. */
export function tailOf(path: string, bytes: number): string {
  return blockOf(path, (size) => Math.max(0, size - bytes), bytes);
}

/** The first bytes of a text file; empty when it cannot be read. */
export function headOf(path: string, bytes: number): string {
  return blockOf(path, () => 0, bytes);
}

function blockOf(
  path: string,
  startIn: (size: number) => number,
  bytes: number
): string {
  const whole = smallFile(path);
  if (whole) {
    const start = startIn(whole.length);
    return whole.toString('utf8', start, start + bytes);
  }
  let descriptor: number;
  try {
    descriptor = openRegular(path, ownReadFlags);
  } catch (error) {
    return absentUnlessLimited(error) ?? '';
  }
  try {
    const { size } = fstatSync(descriptor);
    const block = Buffer.alloc(Math.min(bytes, size));
    const start = startIn(size);
    const count = readSync(descriptor, block, 0, block.length, start);
    return block.subarray(0, count).toString('utf8');
  } finally {
    closeSync(descriptor);
  }
}

/** Larger files are read each time. */
const smallBytes = 8 * 1024;

const smallFiles = new KnownFiles<Buffer | undefined>(100);

/**
 * All bytes of a small file, which are read again only after a change; its
 * journal record, its page and its answers show the same text. Undefined for
 * other files, and for those that cannot be read.
 */
function smallFile(path: string): Buffer | undefined {
  const file = lstatSync(path, { throwIfNoEntry: false });
  if (!file?.isFile() || file.size > smallBytes) return undefined;
  if (file.size === 0) return Buffer.alloc(0);
  const read = () => {
    try {
      return readRegular(path, ownReadFlags);
    } catch {
      return undefined;
    }
  };
  return smallFiles.read(path, read, (bytes) => bytes !== undefined);
}

/** The buffer fits the file, because hundreds may be read concurrently. */
async function* textChunks(path: string): AsyncGenerator<string> {
  const whole = smallFile(path);
  if (whole) {
    yield whole.toString('utf8');
    return;
  }
  const stream = await streamRegular(path, {
    encoding: 'utf8',
    highWaterMark: Math.min(mostChunkBytes, sizeOf(path) + 1)
  });
  for await (const chunk of stream) if (typeof chunk === 'string') yield chunk;
}

/** A larger block does not fit into the CPU cache, which costs much time. */
const countedBytes = 128 * 1024;
/** Blocks that are counted before the event loop gets its turn. */
const countedAtOnce = 32;
/** Decoding is fastest in blocks that fit into the CPU cache. */
const decodedBytes = 16 * 1024;

/**
 * Counts the UTF-16 units of a growing text file. Each call continues where the
 * last one stopped. Invalid UTF-8 counts as the U+FFFD that it decodes to.
 */
export class TextLength {
  readonly #path: string;
  readonly #blockBytes: number;
  /** Bytes counted so far. */
  offset = 0;
  /** The UTF-16 units of these bytes. */
  chars = 0;

  constructor(path: string, bytes = countedBytes) {
    this.#path = path;
    this.#blockBytes = bytes;
  }

  /**
   * Counts up to the current end of the file. With `final`, an incomplete
   * character at the end counts too. Blocks are read synchronously, because a
   * thread of the pool takes longer to answer than the read takes.
   */
  async read(final = false): Promise<number> {
    const file = await openRegularAsync(this.#path, ownReadFlags).catch(
      absentUnlessLimited
    );
    if (!file) return this.chars;
    const block = Buffer.allocUnsafeSlow(this.#blockBytes);
    try {
      for (let blocks = 1; ; blocks += 1) {
        const { length } = block;
        const bytesRead = readSync(file.fd, block, 0, length, this.offset);
        const isLast = bytesRead < length;
        const bytes = block.subarray(0, bytesRead);
        const whole = final && isLast ? bytes : beforeLastLead(bytes);
        this.chars += charsIn(whole);
        this.offset += whole.length;
        if (isLast) return this.chars;
        if (blocks % countedAtOnce === 0) await yieldTurn();
      }
    } finally {
      await file.close();
    }
  }
}

/**
 * Removes a last character that may be incomplete. The next read starts at its
 * first byte, so the decoded text is the same.
 */
export function beforeLastLead(bytes: Buffer): Buffer {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1)
    if ((bytes[bytes.length - back] ?? 0) >= 0xc0)
      return bytes.subarray(0, -back);
  return bytes;
}

/** The number of UTF-16 units of bytes that end at a character boundary. */
function charsIn(bytes: Buffer): number {
  if (isAscii(bytes)) return bytes.length;
  if (isUtf8(bytes)) return bytes.length - bytesBeyondUnits(bytes);
  let chars = 0;
  for (let start = 0; start < bytes.length; ) {
    const piece = bytes.subarray(start, start + decodedBytes);
    const isLast = start + piece.length === bytes.length;
    const whole = isLast ? piece : beforeLastLead(piece);
    chars += whole.toString('utf8').length;
    start += whole.length;
  }
  return chars;
}

/**
 * The difference between bytes and UTF-16 units of valid UTF-8: the number of
 * continuation bytes, minus one for each surrogate pair.
 */
function bytesBeyondUnits(bytes: Buffer): number {
  const { buffer, byteOffset, length } = bytes;
  const words = new Int32Array(buffer, byteOffset, length >> 2);
  const fours = words.length - (words.length % 4);
  let beyond = 0;
  for (let at = 0; at < fours; at += 4) {
    const a = words[at] ?? 0;
    const b = words[at + 1] ?? 0;
    const c = words[at + 2] ?? 0;
    const d = words[at + 3] ?? 0;
    // Skips sixteen ASCII characters at once.
    if (((a | b | c | d) & 0x80808080) === 0) continue;
    beyond += beyondIn(a) + beyondIn(b) + beyondIn(c) + beyondIn(d);
  }
  for (let at = 4 * fours; at < length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte >= 0xf0) beyond -= 1;
    else if (byte >= 0x80 && byte < 0xc0) beyond += 1;
  }
  return beyond;
}

/** The sum for four bytes: 10…… counts +1, 1111…… counts −1. */
function beyondIn(word: number): number {
  const top = word >>> 7;
  const second = word >>> 6;
  const on = top & ~second & 0x01010101;
  const pair = top & second & (word >>> 5) & (word >>> 4) & 0x01010101;
  return (
    (Math.imul(on, 0x01010101) >>> 24) - (Math.imul(pair, 0x01010101) >>> 24)
  );
}
