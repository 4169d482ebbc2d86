import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync } from 'rolldown/utils';
import { expect, test } from 'vitest';
import {
  documentAt,
  documents,
  markdownBelow,
  packageRoot,
  rowsIn
} from '../kit/judges/documents.ts';
import { literalsIn, shownTexts } from './shown-texts.ts';
import { markersIn, proseOf, wordCount } from './words.ts';

/** Written by `npm run reference`. */
const generated = ['tools', 'configuration', 'command-line'].map(
  (name) => `docs/reference/${name}.md`
);
const shipped = documents().filter(
  ({ path }) => path === 'README.md' || path.startsWith('docs/')
);
/** The files outside docs/ that users, contributors and models read. */
const others = [
  ...documents().filter(
    (page) => !shipped.some(({ path }) => path === page.path)
  ),
  ...['agents', 'prompts'].flatMap(markdownBelow).map(documentAt),
  documentAt('logs/README.md'),
  ...readdirSync(join(packageRoot, 'templates')).map((name) =>
    documentAt(join('templates', name))
  )
].filter(({ path }) => path !== 'CHANGELOG.md');
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

test.each([
  // The generated page of tools holds every description.
  ['docs/ with README and changelog', [...shipped, documentAt('CHANGELOG.md')]],
  ['roles, prompts, examples and the other pages', others]
])('%s have less than one marker word in 1,000', (_, pages) => {
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
  const often = [...shipped, ...others].flatMap(({ path, text }) => {
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

test('no text that a user or a model is shown has a marker word', () => {
  const texts = shownTexts();
  expect(texts.length).toBeGreaterThan(1_000);
  const found = texts.flatMap(({ path, text }) =>
    markersIn(text).map((word) => `${path}: ${word} in "${text}"`)
  );
  expect(found).toEqual([]);
});

test('the texts of a file are its literals, with … for expressions', () => {
  const source = "f('a b', `c ${d('e')} f`, /g/); // 'h'";
  const { program } = parseSync('x.ts', source);
  expect(literalsIn(program)).toEqual(['a b', 'c … f', 'e']);
});
