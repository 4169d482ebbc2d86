import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { documents, packageRoot } from '../kit/judges/documents.ts';

/** What pages name: `bench/RESULTS.md` ("One section", "Another"). */
const named = documents().flatMap(({ path, text }) =>
  [...text.matchAll(/`bench\/RESULTS\.md` \(("[^)]*")\)/g)].flatMap(
    ([, titles = '']) =>
      [...titles.matchAll(/"([^"]+)"/g)].map(([, title = '']) => ({
        path,
        title
      }))
  )
);

const bench = join(packageRoot, 'bench');
const textOf = (file: string) => readFileSync(join(bench, file), 'utf8');

/** The titles of what `npm run bench` writes; figures in them may be any. */
function titlesOfBenches(): RegExp[] {
  const names = [...textOf('run.mjs').matchAll(/^ {2}'([\w-]+\.mjs)',?$/gm)];
  return names
    .map(([, name = '']) => name)
    .flatMap((name) => [
      ...textOf(name).matchAll(/\btitle(?::| =) (['`])((?:\\.|(?!\1).)+)\1/g)
    ])
    .map(([, , title = '']) => {
      const plain = title.replaceAll('\\', '');
      const words = plain.split(/\$\{[^}]*\}/).map(literally);
      return new RegExp(`^${words.join('.+')}$`);
    });
}

function literally(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

test('pages name sections of the results', () => {
  expect(named.length).toBeGreaterThan(3);
});

test('every section of the results that a page names is there', () => {
  const headings = [...textOf('RESULTS.md').matchAll(/^## (.+)$/gm)].map(
    ([, heading]) => heading
  );
  const missing = named.filter(({ title }) => !headings.includes(title));
  expect(missing, 'name another, or run the bench').toEqual([]);
});

test('every section of the results that a page names is what a bench writes', () => {
  const titles = titlesOfBenches();
  const unknown = named.filter(
    ({ title }) => !titles.some((one) => one.test(title))
  );
  expect(unknown, 'name it as its bench does').toEqual([]);
});
