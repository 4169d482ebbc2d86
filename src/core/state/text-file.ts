import { createReadStream, statSync } from 'node:fs';

export interface TextSlice {
  text: string;
  /** UTF-16 units in the whole text. */
  totalChars: number;
}

/**
 * Part of a text file by characters, in bounded memory however large the
 * file. Bytes that are not UTF-8 read as U+FFFD; the file keeps them.
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
  return { text, totalChars: position };
}

/** The first and last characters of a text file, in bounded memory. */
export async function readEnds(
  path: string,
  headChars: number,
  tailChars: number
): Promise<{ head: string; tail: string; totalChars: number }> {
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
  return {
    head,
    tail: tailChars > 0 ? tail.slice(-tailChars) : '',
    totalChars
  };
}

/** Bytes of a file, 0 when there is none. */
export function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

async function* textChunks(path: string): AsyncGenerator<string> {
  const stream = createReadStream(path, {
    encoding: 'utf8',
    highWaterMark: 256 * 1024
  });
  for await (const chunk of stream) if (typeof chunk === 'string') yield chunk;
}
