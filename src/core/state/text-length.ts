import { isAscii, isUtf8 } from 'node:buffer';
import { absentUnlessLimited } from '../errors.ts';
import { openRegularLater, ownReadFlags } from './regular-file.ts';

const blockBytes = 512 * 1024;
/** Decoding is quickest by pieces for which a processor's cache has room. */
const decodedBytes = 16 * 1024;

/**
 * UTF-16 units of a text file that grows, counted from where it stopped the
 * last time. Bytes that are not UTF-8 count as the U+FFFD that they read as.
 */
export class TextLength {
  readonly #path: string;
  readonly #blockBytes: number;
  /** Bytes counted so far, and what they are as text. */
  offset = 0;
  chars = 0;

  constructor(path: string, bytes = blockBytes) {
    this.#path = path;
    this.#blockBytes = bytes;
  }

  /**
   * Counts to the present end of the file: as `final`, also a character there
   * that is not whole.
   */
  async read(final = false): Promise<number> {
    const file = await openRegularLater(this.#path, ownReadFlags).catch(
      absentUnlessLimited
    );
    if (!file) return this.chars;
    const block = Buffer.allocUnsafeSlow(this.#blockBytes);
    try {
      for (;;) {
        const { length } = block;
        const { bytesRead } = await file.read(block, 0, length, this.offset);
        const isLast = bytesRead < length;
        const bytes = block.subarray(0, bytesRead);
        const whole = final && isLast ? bytes : beforeLastLead(bytes);
        this.chars += charsIn(whole);
        this.offset += whole.length;
        if (isLast) return this.chars;
      }
    } finally {
      await file.close();
    }
  }
}

/**
 * Without a character that may go on behind the end. Whatever stands before
 * its first byte, it is decoded alike from there on.
 */
function beforeLastLead(bytes: Buffer): Buffer {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1)
    if ((bytes[bytes.length - back] ?? 0) >= 0xc0)
      return bytes.subarray(0, -back);
  return bytes;
}

/** UTF-16 units of whole characters. */
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
 * By how many the bytes of valid UTF-8 outnumber its UTF-16 units: by those
 * that go on with a character, less one where that is a surrogate pair.
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
    // Sixteen letters of English at once.
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

/** Of the four bytes of a word: 10…… counts, 1111…… takes one back. */
function beyondIn(word: number): number {
  const top = word >>> 7;
  const second = word >>> 6;
  const on = top & ~second & 0x01010101;
  const pair = top & second & (word >>> 5) & (word >>> 4) & 0x01010101;
  return (
    (Math.imul(on, 0x01010101) >>> 24) - (Math.imul(pair, 0x01010101) >>> 24)
  );
}
