import { expect, test } from 'vitest';
import { splitWords } from './template.ts';

test.each([
  ['a  b\tc\r\nd\ne', ['a', 'b', 'c', 'd', 'e']],
  ['  a  ', ['a']],
  ['', []],
  ['a "" \'\' b', ['a', '', '', 'b']],
  ['"a"b\'c\' x="d e"', ['abc', 'x=d e']],
  ['a\\ b \\"c \\\\', ['a b', '"c', '\\']],
  ['a \\\n  b', ['a', 'b']],
  ['a\\\nb "c\\\nd" \'e\\\nf\'', ['ab', 'cd', 'e\\\nf']],
  ['"\\"\\\\\\$\\`\\q" \'\\"\'', ['"\\$`\\q', '\\"']],
  [
    '$HOME "$HOME" ~ * a#b \\# "# x" {c,d} !e (f)',
    ['$HOME', '$HOME', '~', '*', 'a#b', '#', '# x', '{c,d}', '!e', '(f)']
  ],
  ["# it's nothing\na # | b\n#c\nd", ['a', 'd']],
  ['a #b \\\nc', ['a', 'c']],
  ['"; > | && $( ` <" \\| \'&\'', ['; > | && $( ` <', '|', '&']]
])('%j is split as in a shell, and nothing is expanded', (command, words) => {
  expect(splitWords(command)).toEqual(words);
});

test.each([
  'a | b',
  'a|b',
  'a && b',
  'a & b',
  'a; b',
  'a > b',
  'a 2>&1',
  'a < b',
  'a $(b)',
  'a `b`',
  'a "b"`c`'
])('%j is refused because only a shell can run it', (command) => {
  expect(() => splitWords(command)).toThrow('outside quotes');
});

test.each(["it's", 'say "hello', 'a \\'])(
  '%j is refused as incomplete',
  (command) => {
    expect(() => splitWords(command)).toThrow('an open quote');
  }
);
