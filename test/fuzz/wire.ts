import { pick, type Random } from '../kit/judges/random.ts';

/** Lines that are no messages and get no answer. */
const noise = [
  ...['', ' ', '\r', 'not json', '{', '}', '[', ']', '[]', '{}', 'null', '1'],
  ...['"x"', '{"jsonrpc":"2.0"}', '{"jsonrpc":"2.0","method":', '\u2028'],
  ...['{"a":1}{"b":2}', "{'a':1}", '{"a":1,}', '[[[[', '\ufeff{}', '//']
];

/** Bytes that are no UTF-8, or only the beginning of it. */
const bytes = [
  [0xff, 0xfe],
  [0xe3, 0x81],
  [0xf0, 0x9f],
  [0x80],
  [0],
  [0xc0, 0xaf]
];

export function noiseLine(random: Random): Buffer {
  return random.next() < 0.5
    ? Buffer.from(`${pick(random, noise)}\n`)
    : Buffer.from([...pick(random, bytes), ...pick(random, bytes), 10]);
}

/** The line of a message, with the ends that lines have. */
export function lineOf(text: string, random: Random): Buffer {
  const [before, after] = pick(random, [
    ['', '\n'],
    ['', '\n'],
    ['', '\r\n'],
    ['\n\n', '\n'],
    ['  ', ' \t\n']
  ] as const);
  return Buffer.from(`${before}${text}${after}`);
}

/** The same bytes, cut anywhere, amid characters too. */
export function chunksOf(stream: Buffer, random: Random): Buffer[] {
  const chunks: Buffer[] = [];
  for (let start = 0; start < stream.length; ) {
    const size = pick(random, [1, 7, 100, 4096, 65_536, 1_000_000]);
    chunks.push(stream.subarray(start, start + size));
    start += size;
  }
  return chunks;
}
