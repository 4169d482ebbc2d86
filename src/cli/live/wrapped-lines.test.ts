import fc from 'fast-check';
import { expect, test } from 'vitest';
import { widthOf } from '../text.ts';
import { wrappedLines } from './wrapped-lines.ts';

test.each([
  ['', ['']],
  ['one two', ['one two']],
  ['one two three', ['one two', 'three']],
  ['a\n\n  b', ['a', '', '  b']],
  ['twelve-chars', ['twelve-c', 'hars']],
  ['日本語の文章', ['日本語の', '文章']],
  ['\tx', ['    x']]
])('%j in eight columns', (text, lines) => {
  expect(wrappedLines(text, 8)).toEqual(lines);
});

test('no line is too wide, and nothing but blanks is lost', () => {
  const word = fc.string({ unit: fc.constantFrom(...'ab日 e\u0301😀 ') });
  fc.assert(
    fc.property(word, fc.integer({ min: 2, max: 12 }), (text, columns) => {
      const lines = wrappedLines(text, columns);
      for (const line of lines)
        expect(widthOf(line)).toBeLessThanOrEqual(columns);
      const letters = (some: string) => some.replaceAll(' ', '');
      expect(letters(lines.join(''))).toBe(letters(text));
    })
  );
});

test('a megabyte without a blank is wrapped before the test runs out of time', () => {
  expect(wrappedLines('x'.repeat(1_000_000), 80)).toHaveLength(12_500);
});
