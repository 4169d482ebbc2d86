import { expect, test } from 'vitest';
import { plainText } from './plain-text.ts';

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
])('%s are what they look like', (_, output, expected) => {
  expect(plainText(output)).toBe(expected);
});
