import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cutAtWord, visibleJson, visibleText } from './text.ts';

test.each([
  ['a colour', '\u001b[31mred\u001b[0m', '␛[31mred␛[0m'],
  ['a title', '\u001b]0;title\u0007', '␛]0;title␇'],
  ['the clipboard', '\u001b]52;c;ZXZpbA==\u001b\\', '␛]52;c;ZXZpbA==␛\\'],
  ['NUL, backspace and DEL', '\0\b\u007f', '␀␈␡'],
  ['a C1 sequence', '\u009b2J\u0085', '\\u009b2J\\u0085'],
  ['an override', 'abc\u202edcba\u202c', 'abc\\u202edcba\\u202c'],
  [
    'other direction marks',
    '\u061c\u200e\u200f\u2066\u2069',
    '\\u061c\\u200e\\u200f\\u2066\\u2069'
  ],
  ['a Windows line end', 'a\r\nb\r\n', 'a\nb\n'],
  ['a carriage return alone', '10 %\r20 %\r\r\n', '10 %␍20 %␍\n']
])('%s becomes visible', (_, text, shown) => {
  expect(visibleText(text)).toBe(shown);
});

test.each([
  ['newline and tab', 'a\n\tb\n'],
  ['words of any script', 'é 한국어 עברית العربية'],
  ['emoji that are joined', '👩‍💻 🏳️‍🌈'],
  ['half a surrogate pair', '\ud83d \ude00'],
  ['text that was made visible before', '␛[31m \\u202e']
])('%s stay unchanged', (_, text) => {
  expect(visibleText(text)).toBe(text);
});

test('the result has no control character and does not change a second time', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const shown = visibleText(text);
      expect(shown).not.toMatch(/(?![\n\t])\p{Cc}/u);
      expect(shown).not.toMatch(/\p{Bidi_Control}/u);
      expect(visibleText(shown)).toBe(shown);
    })
  );
});

test('visible JSON has the same value and no control character', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const json = visibleJson({ text }, 2);
      expect(JSON.parse(json)).toEqual({ text });
      expect(json).not.toMatch(/(?![\n])\p{Cc}|\p{Bidi_Control}/u);
    })
  );
});

test.each([
  ['short enough', 'one two', 7, 'one two'],
  ['of several words', 'one two three', 9, 'one two …'],
  ['of several words, within one', 'one two three', 6, 'one …'],
  ['of one word', 'onetwothree', 6, 'onetw…'],
  ['of a script without blanks', 'say 火火火火', 7, 'say 火火…'],
  ['of such a script and a word', '火火 onetwothree', 9, '火火 …'],
  ['of one emoji too many', '😀😀😀', 4, '😀…']
])('a text %s ends with a whole word', (_, text, chars, cut) => {
  expect(cutAtWord(text, chars)).toBe(cut);
});
