import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import {
  documentAt,
  packageRoot,
  rowsIn
} from '../../../../test/kit/judges/documents.ts';
import { parsePrompt } from './prompt-file.ts';

const directory = join(packageRoot, 'prompts');
const files = readdirSync(directory).filter((name) => name.endsWith('.md'));
const prompts = files.map((file) =>
  parsePrompt(file, readFileSync(join(directory, file), 'utf8'), parse)
);

/** Toolset → its tools, from the table of docs/guides/tools.md. */
const tools = new Map(
  [
    ...documentAt('docs/guides/tools.md').text.matchAll(
      /^\| \[?`(\w+)`[^|]* \| (\[`.*) \|$/gm
    )
  ].map(([, toolset = '', cell = '']) => [
    toolset,
    [...cell.matchAll(/`([\w<>]+)`/g)].map(([, tool = '']) => tool)
  ])
);

test('the package has four prompts', () => {
  expect(prompts.map(({ name }) => name).sort()).toEqual([
    'council',
    'delegate',
    'second_opinion',
    'squad'
  ]);
});

test.each(prompts)(
  '$name has a placeholder for each of its arguments',
  (prompt) => {
    const placeholders = [...prompt.body.matchAll(/\{\{(\w+)\}\}/g)];
    expect(placeholders.map(([, name]) => name)).toEqual(
      prompt.arguments.map(({ name }) => name)
    );
  }
);

test.each(prompts)(
  '$name has a default for each optional argument',
  (prompt) => {
    for (const { required, default: absent } of prompt.arguments)
      expect(absent === undefined).toBe(required);
  }
);

test.each(prompts)('$name names only tools of its toolsets', (prompt) => {
  const named = [...prompt.body.matchAll(/`(\w+_(?:\w+|…))`/g)].map(
    ([, name = '']) => name.replace('_…', '_<engine>')
  );
  const ownTools = prompt.toolsets.flatMap(
    (toolset) => tools.get(toolset) ?? []
  );
  const others = [...tools.values()]
    .flat()
    .filter((tool) => !ownTools.includes(tool));
  expect(
    named.filter((name) => ownTools.includes(name)).length
  ).toBeGreaterThan(0);
  expect(named.filter((name) => others.includes(name))).toEqual([]);
});

test('docs/start/prompts.md lists every prompt with its arguments', () => {
  const { text } = documentAt('docs/start/prompts.md');
  const [rows = ''] = text.split('\n## ');
  const documented = rowsIn(rows).map(([name = '', wanted = '']) => ({
    name: name.replaceAll('`', ''),
    arguments: [...wanted.matchAll(/`(\w+)`/g)].map(([, one]) => one)
  }));
  const inFiles = prompts.map(({ name, arguments: all }) => ({
    name,
    arguments: all.map((one) => one.name)
  }));
  expect(documented).toEqual(expect.arrayContaining(inFiles));
  expect(documented).toHaveLength(inFiles.length);
});

test.each([
  ['without a head', 'Do it.', 'no head'],
  ['with an unknown key', '---\ntitle: A\nx: 1\n---\nDo it.', 'x']
])('a file %s is refused', (_, text, words) => {
  expect(() => parsePrompt('a.md', text, parse)).toThrow(words);
});
