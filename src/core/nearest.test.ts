import { expect, test } from 'vitest';
import { didYouMean, nearest } from './nearest.ts';

const engines = ['claude', 'codex', 'copilot', 'gemini', 'gemini-cli', 'grok'];

test.each([
  ['cluade', ['claude']],
  ['cladue', ['claude']],
  ['Claude', ['claude']],
  ['codx', ['codex']],
  ['gork', ['grok']],
  ['geminy', ['gemini']],
  ['gemini-', ['gemini']],
  ['cop', ['copilot']],
  ['something', []],
  ['x', []],
  ['', []]
])('"%s" may mean %j', (word, meant) => {
  expect(nearest(word, engines)).toEqual(meant);
});

test('words that are equally near are all suggested, at most three', () => {
  const ids = ['a1b2c3d4', 'a1b2c3d5', 'a1b2c3d6', 'a1b2c3d7'];
  expect(nearest('a1b2c3d8', ids)).toEqual(ids.slice(0, 3));
  expect(didYouMean('a1b2c3d8', ids.slice(0, 2))).toBe(
    'Did you mean "a1b2c3d4" or "a1b2c3d5"? '
  );
  expect(didYouMean('nothing', ids)).toBe('');
});

test('a word of a million letters is compared quickly', () => {
  expect(nearest('x'.repeat(1_000_000), engines)).toEqual([]);
});
