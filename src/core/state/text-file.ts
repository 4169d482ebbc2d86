import { closeSync, fstatSync, readSync, statSync } from 'node:fs';
import { absentUnlessLimited } from '../errors.ts';
import { openRegular, ownReadFlags, streamRegular } from './regular-file.ts';

const mostChunkBytes = 256 * 1024;

export interface TextSlice {
  text: string;
  /** UTF-16 units in the whole text. */
  totalChars: number;
}

export interface TextEnds {
  head: string;
  tail: string;
  /** UTF-16 units in the whole text. */
  totalChars: number;
}

/**
 * Part of a text file by characters, in bounded memory however large the
 * file. Bytes that are not UTF-8 read as U+FFFD; the file keeps them. A part
 * that would end amid a surrogate pair ends before it, so that parts read one
 * after another make up the text.
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
  if (more && text.length > 1) text = text.replace(/[\ud800-\udbff]$/, '');
  return { text: wellFormed(text), totalChars: position };
}

/**
 * The first and last characters of a text file, in bounded memory. Where they
 * leave something out, neither holds half of a surrogate pair. With the
 * length known, a large file is read at its ends only.
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
 * Two blocks of four bytes a character: enough for either end, with a surplus
 * that takes in the character a block's edge may have cut.
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

/** Half a surrogate pair as U+FFFD: no JSON or UTF-8 can hold it. */
function wellFormed(text: string): string {
  return /^[\udc00-\udfff]|[\ud800-\udbff]$/.test(text)
    ? Buffer.from(text).toString('utf8')
    : text;
}

/** Bytes of a file, 0 when there is none. */
export function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** The last bytes of a text file; empty when there is none. */
export function tailOf(path: string, bytes: number): string {
  return blockOf(path, (size) => Math.max(0, size - bytes), bytes);
}

/** Its first bytes. */
export function headOf(path: string, bytes: number): string {
  return blockOf(path, () => 0, bytes);
}

function blockOf(
  path: string,
  startIn: (size: number) => number,
  bytes: number
): string {
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

/** Hundreds may be read at once, and most of them are short. */
async function* textChunks(path: string): AsyncGenerator<string> {
  const stream = await streamRegular(path, {
    encoding: 'utf8',
    highWaterMark: Math.min(mostChunkBytes, sizeOf(path) + 1)
  });
  for await (const chunk of stream) if (typeof chunk === 'string') yield chunk;
}
