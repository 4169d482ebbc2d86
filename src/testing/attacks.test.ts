import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const directory = join(import.meta.dirname, 'e2e');

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
