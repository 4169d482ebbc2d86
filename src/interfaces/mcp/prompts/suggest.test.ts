import { expect, test } from 'vitest';
import { partsOf, suggest, suggestNext } from './suggest.ts';

const engines = ['codex', 'claude', 'Copilot', 'gemini'];

test('choices that begin with the typed text are suggested in their order', () => {
  expect(suggest('c', engines).values).toEqual(['codex', 'claude', 'Copilot']);
  expect(suggest('CO', engines).values).toEqual(['codex', 'Copilot']);
  expect(suggest('', engines).values).toEqual(engines);
  expect(suggest('x', engines)).toEqual({
    values: [],
    total: 0,
    hasMore: false
  });
});

test('at most a hundred values are suggested, with the total', () => {
  const many = Array.from({ length: 250 }, (_, index) => `a${index}`);
  const { values, total, hasMore } = suggest('a', many);
  expect({ count: values.length, total, hasMore }).toEqual({
    count: 100,
    total: 250,
    hasMore: true
  });
});

test('the last item of a list is completed, and no item is suggested twice', () => {
  expect(suggestNext('codex, c', engines).values).toEqual([
    'codex, claude',
    'codex, Copilot'
  ]);
  expect(suggestNext('codex,', ['codex', 'gemini']).values).toEqual([
    'codex,gemini'
  ]);
  expect(suggestNext('g', engines).values).toEqual(['gemini']);
});

test('a list that is too long is not completed', () => {
  const { values } = suggestNext('x,'.repeat(100_000), engines);
  expect(values.join('').length).toBeLessThan(1000);
});

test('a list is split at its commas', () => {
  expect(partsOf(' codex ,, claude,')).toEqual(['codex', 'claude']);
});
