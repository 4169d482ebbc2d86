import { expect, test } from 'vitest';
import { documentAt, documents, rowsIn } from '../kit/judges/documents.ts';
import { markersIn, proseOf, wordCount } from './words.ts';

/** Written by `npm run reference`. */
const generated = ['tools', 'configuration', 'command-line'].map(
  (name) => `docs/reference/${name}.md`
);
const shipped = documents().filter(
  ({ path }) => path === 'README.md' || path.startsWith('docs/')
);
const written = shipped.filter(({ path }) => !generated.includes(path));

test('README and the written pages of docs/ have fewer than 40,000 words', () => {
  const counts = written.map(({ path, text }) => ({
    path,
    words: wordCount(text)
  }));
  const total = counts.reduce((sum, { words }) => sum + words, 0);
  const longest = counts
    .toSorted((one, other) => other.words - one.words)
    .slice(0, 5)
    .map(({ path, words }) => `${path}: ${words}`)
    .join(', ');
  expect(total, `cut what repeats; the longest: ${longest}`).toBeLessThan(
    40_000
  );
});

test('the pages, the changelog and the descriptions of tools are plain English', () => {
  // The generated page of tools holds every description.
  const pages = [...shipped, documentAt('CHANGELOG.md')];
  const found = pages.flatMap(({ path, text }) =>
    markersIn(proseOf({ text })).map((word) => ({ path, word }))
  );
  const words = pages.reduce((sum, page) => sum + wordCount(proseOf(page)), 0);
  const list = found.map(({ path, word }) => `${path}: ${word}`);
  expect(
    (found.length / words) * 1000,
    `say it plainly: ${list.join('; ')}`
  ).toBeLessThan(1);
});

test('no page has the marker words more than twice', () => {
  const often = shipped.flatMap(({ path, text }) => {
    const found = markersIn(proseOf({ text }));
    return found.length > 2 ? [`${path}: ${found.join(', ')}`] : [];
  });
  expect(often).toEqual([]);
});

test('marker words are found in prose and in tables, not in code', () => {
  const text = 'Mend it, `tell`.\n\n| A | B |\n|---|---|\n| x | nobody |\n';
  expect(rowsIn(text)).toHaveLength(1);
  expect(markersIn(proseOf({ text }))).toEqual(['mend', 'nobody']);
});
