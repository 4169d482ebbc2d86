import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { documents } from '../kit/judges/documents.ts';
import { anchorsOf, isPublished, leadsSomewhere, linksOf } from './links.ts';

const pages = documents();
const links = pages.flatMap(linksOf);
const told = links.map((link) => ({
  ...link,
  words: `${link.from}: ${link.target}`
}));
const inside = told.filter(({ path }) => path !== undefined);

/** Pages that a page leads to. */
function from(path: string): string[] {
  return inside.flatMap(({ from, path: to }) =>
    from === path && to !== undefined ? [to] : []
  );
}

test('the links are found at all', () => {
  expect(inside.length).toBeGreaterThan(300);
  expect(new Set(inside.map(({ from }) => from)).size).toBeGreaterThan(15);
});

test('every link leads to a file, and to a heading if it names one', () => {
  const broken = inside.filter((link) => !leadsSomewhere(link));
  expect(
    broken.map(({ words }) => words),
    'mend the link, or the heading that it means'
  ).toEqual([]);
});

test('a link between two pieces of code is a link, one in code is none', () => {
  const text = '[`one`](one.md) and `two`, `[x](three.md)`, [`four`](four.md)';
  const links = linksOf({ path: 'docs/README.md', text });
  expect(links.map(({ target }) => target)).toEqual(['one.md', 'four.md']);
});

test('headings have the anchors that GitHub gives them', () => {
  const text = [
    '# Wait: 2 `ids`?',
    '```sh',
    '# no heading',
    '```',
    '## `engines.<name>`',
    '## Same',
    '## Same',
    '<a id="own"></a>'
  ].join('\n');
  expect(anchorsOf(text)).toEqual([
    'wait-2-ids',
    'enginesname',
    'same',
    'same-1',
    'own'
  ]);
});

test('every page of docs/ is at most two clicks from the README', () => {
  const first = from('README.md');
  const near = new Set([...first, ...first.flatMap(from)]);
  const docs = pages
    .map(({ path }) => path)
    .filter((path) => path.startsWith('docs/'));
  expect(docs.length).toBeGreaterThan(20);
  expect(
    docs.filter((path) => !near.has(path)),
    'link these from README.md or from docs/README.md'
  ).toEqual([]);
});

test('docs/README.md leads to every page, or to the first page of its folder', () => {
  const index = from('docs/README.md');
  const missing = pages
    .map(({ path }) => path)
    .filter((path) => path.startsWith('docs/') && path !== 'docs/README.md')
    .filter(
      (path) =>
        !index.includes(path) &&
        !index.includes(join(dirname(path), 'README.md'))
    );
  expect(missing, 'give these a row in docs/README.md').toEqual([]);
});

test('what npm publishes links to nothing that it does not', () => {
  const lost = inside.filter(
    ({ from, path = '' }) => isPublished(from) && !isPublished(path)
  );
  expect(
    lost.map(({ words }) => words),
    'name these files as code, without a link, or say that they are in the repository'
  ).toEqual([]);
});

test('addresses are whole', () => {
  const outside = told.filter(({ path }) => path === undefined);
  const bad = outside.filter(({ target }) => {
    if (target.startsWith('mailto:'))
      return !/^mailto:\S+@\S+\.\w+$/.test(target);
    if (!URL.canParse(target)) return true;
    const { protocol, hostname } = new URL(target);
    return (
      protocol !== 'https:' ||
      !/^[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(hostname) ||
      /(^|\.)example(\.|$)/.test(hostname)
    );
  });
  expect(bad.map(({ words }) => words)).toEqual([]);
});
