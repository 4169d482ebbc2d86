import { closeSync, fstatSync, readSync } from 'node:fs';
import { errnoOf } from '../../../core/errors.ts';
import {
  openRegular,
  ownReadFlags
} from '../../../core/state/files/regular-file.ts';
import { beforeLastLead } from '../../../core/state/files/text-file.ts';
import { plainText, visibleText } from '../../../core/text.ts';

/** A part of a file as text. Offsets are bytes, so that each part is cheap. */
export interface TextPart {
  text: string;
  offset: number;
  /** Where the next part begins; null at the end. */
  next_offset: number | null;
  total_bytes: number;
}

const partBytes = 128 * 1024;
/** The most bytes of one character in UTF-8. */
const characterBytes = 4;

/**
 * @param offset where to begin; negative: so many bytes before the end
 * @param isExact whether the text is as in the file, to be saved: it may have
 *   control characters, which a page must not show
 * @returns undefined for a file that is not there
 */
export function readPart(
  path: string,
  offset: number,
  { bytes = partBytes, isExact = false } = {}
): TextPart | undefined {
  let descriptor: number;
  try {
    descriptor = openRegular(path, ownReadFlags);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  }
  try {
    const { size } = fstatSync(descriptor);
    const from = Math.min(
      size,
      offset < 0 ? Math.max(0, size + offset) : offset
    );
    const block = Buffer.alloc(Math.min(bytes, size - from));
    const count = readSync(descriptor, block, 0, block.length, from);
    const read = block.subarray(0, count);
    const start = offset < 0 && from > 0 ? firstCharacter(read) : 0;
    const isEnd = from + count >= size;
    const end = isEnd ? count : beforeLastLead(read).length;
    const text = read.toString('utf8', start, end);
    return {
      text: isExact ? text : visibleText(plainText(text)),
      offset: from + start,
      next_offset: isEnd ? null : from + end,
      total_bytes: size
    };
  } finally {
    closeSync(descriptor);
  }
}

/** The first byte that does not continue a character. */
function firstCharacter(bytes: Buffer): number {
  const start = bytes
    .subarray(0, characterBytes)
    .findIndex((byte) => (byte & 0xc0) !== 0x80);
  return Math.max(0, start);
}
