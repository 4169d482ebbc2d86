import { expect, test } from 'vitest';
import { partsOf, suggest, suggestNext } from './suggest.ts';

const engines = ['codex', 'claude', 'Copilot', 'gemini'];

test('what goes on from the typed text is suggested, in its order', () => {
  expect(suggest('c', engines).values).toEqual(['codex', 'claude', 'Copilot']);
  expect(suggest('CO', engines).values).toEqual(['codex', 'Copilot']);
  expect(suggest('', engines).values).toEqual(engines);
  expect(suggest('x', engines)).toEqual({
    values: [],
    total: 0,
    hasMore: false
  });
});

test('a hundred are told of more, and how many there are', () => {
  const many = Array.from({ length: 250 }, (_, index) => `a${index}`);
  const { values, total, hasMore } = suggest('a', many);
  expect({ count: values.length, total, hasMore }).toEqual({
    count: 100,
    total: 250,
    hasMore: true
  });
});

test('in a list the last is completed, and none is named twice', () => {
  expect(suggestNext('codex, c', engines).values).toEqual([
    'codex, claude',
    'codex, Copilot'
  ]);
  expect(suggestNext('codex,', ['codex', 'gemini']).values).toEqual([
    'codex,gemini'
  ]);
  expect(suggestNext('g', engines).values).toEqual(['gemini']);
});

test('an endless list is not repeated for each that might follow', () => {
  const { values } = suggestNext('x,'.repeat(100_000), engines);
  expect(values.join('').length).toBeLessThan(1000);
});

test('a list names what stands between its commas', () => {
  expect(partsOf(' codex ,, claude,')).toEqual(['codex', 'claude']);
});
