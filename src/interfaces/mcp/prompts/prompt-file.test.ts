import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { documentAt, packageRoot, rowsIn } from '../../../testing/documents.ts';
import { parsePrompt } from './prompt-file.ts';

const directory = join(packageRoot, 'prompts');
const files = readdirSync(directory).filter((name) => name.endsWith('.md'));
const prompts = files.map((file) =>
  parsePrompt(file, readFileSync(join(directory, file), 'utf8'), parse)
);

/** Toolset → its tools, from the table of docs/tools.md. */
const tools = new Map(
  [
    ...documentAt('docs/tools.md').text.matchAll(
      /^\| \[?`(\w+)`[^|]* \| (\[`.*) \|$/gm
    )
  ].map(([, toolset = '', cell = '']) => [
    toolset,
    [...cell.matchAll(/`([\w<>]+)`/g)].map(([, tool = '']) => tool)
  ])
);

test('there are prompts for the four ways to work together', () => {
  expect(prompts.map(({ name }) => name).sort()).toEqual([
    'council',
    'delegate',
    'second_opinion',
    'squad'
  ]);
});

test.each(prompts)('$name has a place for each of its arguments', (prompt) => {
  const places = [...prompt.body.matchAll(/\{\{(\w+)\}\}/g)];
  expect(places.map(([, name]) => name)).toEqual(
    prompt.arguments.map(({ name }) => name)
  );
});

test.each(prompts)('$name says what holds without an argument', (prompt) => {
  for (const { required, default: absent } of prompt.arguments)
    expect(absent === undefined).toBe(required);
});

test.each(prompts)('$name names tools of its toolsets alone', (prompt) => {
  const named = [...prompt.body.matchAll(/`(\w+_(?:\w+|…))`/g)].map(
    ([, name = '']) => name.replace('_…', '_<engine>')
  );
  const its = prompt.toolsets.flatMap((toolset) => tools.get(toolset) ?? []);
  const others = [...tools.values()]
    .flat()
    .filter((tool) => !its.includes(tool));
  expect(named.filter((name) => its.includes(name)).length).toBeGreaterThan(0);
  expect(named.filter((name) => others.includes(name))).toEqual([]);
});

test('docs/prompts.md tells of each, with its arguments', () => {
  const { text } = documentAt('docs/prompts.md');
  const [rows = ''] = text.split('\n## ');
  const told = rowsIn(rows).map(([name = '', wanted = '']) => ({
    name: name.replaceAll('`', ''),
    arguments: [...wanted.matchAll(/`(\w+)`/g)].map(([, one]) => one)
  }));
  const inFiles = prompts.map(({ name, arguments: all }) => ({
    name,
    arguments: all.map((one) => one.name)
  }));
  expect(told).toEqual(expect.arrayContaining(inFiles));
  expect(told).toHaveLength(inFiles.length);
});

test.each([
  ['without a head', 'Do it.', 'no head'],
  ['with a key too many', '---\ntitle: A\nx: 1\n---\nDo it.', 'x']
])('a file %s is refused', (_, text, words) => {
  expect(() => parsePrompt('a.md', text, parse)).toThrow(words);
});
