import { expect, test } from 'vitest';
import { seededRandom } from '../../../../test/kit/judges/random.ts';
import { MessageLines } from './message-lines.ts';

test('lines do not depend on the chunks of the stream', () => {
  const random = seededRandom('message-lines');
  const lines = ['{"a":"한😀"}', '', 'x'.repeat(300), '{}\r', '{"b":1}'];
  const stream = Buffer.from(`${lines.join('\n')}\nrest`);
  for (let round = 0; round < 200; round += 1) {
    const reader = new MessageLines(1000);
    const found = chunksOf(stream, () => random.between(1, 40)).flatMap(
      (chunk) => [...reader.add(chunk)]
    );
    expect(found).toEqual(lines);
  }
});

test('a line at the limit is whole, and one above it is cut to its two ends', () => {
  const reader = new MessageLines(10_000);
  const long = `${'a'.repeat(5000)}${'b'.repeat(5001)}`;
  const stream = Buffer.from(`${long.slice(1)}\n${long}\nnext\n`);
  const found = chunksOf(stream, () => 700).flatMap((chunk) => [
    ...reader.add(chunk)
  ]);
  expect(found).toEqual([
    long.slice(1),
    { head: 'a'.repeat(2048), tail: 'b'.repeat(2048) },
    'next'
  ]);
});

function chunksOf(stream: Buffer, size: () => number): Buffer[] {
  const chunks: Buffer[] = [];
  for (let start = 0; start < stream.length; ) {
    const end = start + size();
    chunks.push(stream.subarray(start, end));
    start = end;
  }
  return chunks;
}
