import { expect, test } from 'vitest';
import { packages } from '../../scripts/lazy-files.mjs';
import {
  importsOf,
  isProduct,
  sourceFiles
} from '../kit/judges/source-files.ts';

const product = sourceFiles('src', 'plugins').filter(isProduct);
const used: Record<string, string> = packages;

test('every package that is loaded at its first use is in a file of its own', () => {
  const loaded = product
    .flatMap(importsOf)
    .filter(({ target, lazy }) => lazy && /^[@a-z][\w@/-]*$/.test(target))
    .map(({ target }) => target)
    .filter((target) => !/^(src|plugins)\//.test(target));
  expect([...new Set(loaded)].sort()).toEqual(Object.keys(used).sort());
});

test('such a file has all that is taken from it', () => {
  const taking = /const (\{[^}]*\}) = await import\('([^'.:]+)'\)/g;
  const taken = product.flatMap(({ text }) => [...text.matchAll(taking)]);
  expect(taken.length).toBeGreaterThan(4);
  for (const [, names = '', name = ''] of taken)
    expect([names, '*'], name).toContain(used[name]);
});
