import { closeSync, openSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { createTempWorkspace } from '../../../../test/kit/workspaces/temp-workspace.ts';
import { lineEndAt, linesBack } from './lines-back.ts';

const workspace = createTempWorkspace();
const path = join(workspace.path, 'lines');

afterAll(() => workspace.remove());

function backFrom(text: string, end?: number, limit = 10_000_000) {
  writeFileSync(path, text);
  const descriptor = openSync(path, 'r');
  try {
    const { size } = statSync(path);
    return [...linesBack(descriptor, end ?? size, limit)];
  } finally {
    closeSync(descriptor);
  }
}

test('any text comes back line by line, with the offset of each', () => {
  const line = fc.string({ unit: 'grapheme', maxLength: 30 });
  fc.assert(
    fc.property(fc.array(line, { minLength: 1 }), (parts) => {
      const text = parts.join('\n');
      const found = backFrom(text).reverse();
      const lines = text === '' ? [] : text.split('\n');
      expect(found.map((one) => one.text)).toEqual(lines);
      const bytes = Buffer.from(text);
      for (const { start, bytes: length, text: own } of found)
        expect(bytes.toString('utf8', start, start + length)).toBe(own);
    })
  );
});

test('lines longer than a block, and across blocks, are whole', () => {
  const lines = [1, 40_000, 300_000, 3, 900_000].map(
    (length, index) => `${index}${'é'.repeat(length)}`
  );
  const found = backFrom(`${lines.join('\n')}\n`);
  expect(found.map((one) => one.text).reverse()).toEqual([...lines, '']);
});

test('a line above the limit is passed over, and those beside it are not', () => {
  const found = backFrom(`one\n${'x'.repeat(500_000)}\nthree`, undefined, 100);
  expect(found.map(({ text, bytes }) => [text, bytes])).toEqual([
    ['three', 5],
    ['', 500_000],
    ['one', 3]
  ]);
});

test('the end of the line of any byte is found', () => {
  writeFileSync(path, `ab\n${'x'.repeat(100_000)}\nc`);
  const descriptor = openSync(path, 'r');
  const { size } = statSync(path);
  const endAt = (offset: number) => lineEndAt(descriptor, offset, size);
  expect([0, 2, 3, 100_003, 100_004].map(endAt)).toEqual([
    ...[3, 3, 100_004, 100_004, 100_005]
  ]);
  closeSync(descriptor);
});
