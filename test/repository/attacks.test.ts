import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const directory = join(import.meta.dirname, '../e2e/attacks');

test('at least sixty attacks are named and played', () => {
  const titles = readdirSync(directory)
    .filter((name) => /^attack-.*\.test\.ts$/.test(name))
    .flatMap((name) => {
      const text = readFileSync(join(directory, name), 'utf8');
      return [...text.matchAll(/['`"]attack: ([^\n]+?)['`"],/g)].map(
        ([, title]) => title
      );
    });
  expect(new Set(titles).size).toBe(titles.length);
  expect(titles.length).toBeGreaterThanOrEqual(60);
});

test('the tests that SECURITY.md names are there', () => {
  const root = join(import.meta.dirname, '../..');
  const text = readFileSync(join(root, 'SECURITY.md'), 'utf8');
  const named = [...text.matchAll(/`([\w/-]+\.test\.ts)`/g)].map(
    ([, name = '']) => name
  );
  const missing = named.filter((name) => !existsSync(join(root, name)));
  expect(missing).toEqual([]);
  expect(named.length).toBeGreaterThan(20);
});
