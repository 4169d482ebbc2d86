import fc from 'fast-check';
import { expect, test } from 'vitest';
import { plainText } from '../../core/text.ts';
import { widthOf, wrappedLines } from './text.ts';

test.each([
  ['colours', '\u001b[1;32m--json\u001b[0m', '--json'],
  ['a colour with colons', '\u001b[38:2::1:2:3m--json\u001b[m', '--json'],
  [
    'links',
    '\u001b]8;;http://x/?--old\u0007--json\u001b]8;;\u0007, \u001b]8;;x\u001b\\-m\u001b]8;;\u001b\\',
    '--json, -m'
  ],
  ['titles', '\u001b]0;--old\u0007--json', '--json'],
  ['character sets', '\u001b(B--json', '--json'],
  ['bold of man', '-\b--\b-j\bjs\bso\bon\bn', '--json'],
  ['underlines of man', '_\bM_\bO_\bD_\bE', 'MODE'],
  ['a step back at an end', '--json\b\n-m', '--json\n-m'],
  ['lines and tabs', 'a\r\n\tb', 'a\n\tb']
])('%s become plain text', (_, output, expected) => {
  expect(plainText(output)).toBe(expected);
});

test.each([
  ['', ['']],
  ['one two', ['one two']],
  ['one two three', ['one two', 'three']],
  ['a\n\n  b', ['a', '', '  b']],
  ['twelve-chars', ['twelve-c', 'hars']],
  ['日本語の文章', ['日本語の', '文章']],
  ['\tx', ['    x']]
])('%j is wrapped to eight columns', (text, lines) => {
  expect(wrappedLines(text, 8)).toEqual(lines);
});

test('no wrapped line is too wide, and only blanks are lost', () => {
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

test('a megabyte without a blank is wrapped within the limit of a test', () => {
  expect(wrappedLines('x'.repeat(1_000_000), 80)).toHaveLength(12_500);
});
