import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isProduct, root, sourceFiles } from '../kit/judges/source-files.ts';

/** Files in dist/ that a server over stdio does not start. */
const others = [
  'app.js',
  'cli.cjs',
  'http.cjs',
  'statusline.cjs',
  'troupe.cjs',
  'web.cjs'
];

test('the bundle for Claude Desktop has every program that a server starts', () => {
  const built = readFileSync(join(root, 'scripts/build.mjs'), 'utf8');
  const named = sourceFiles('src', 'plugins')
    .filter(isProduct)
    .flatMap(({ text }) => text.match(/(?<=')[\w-]+\.c?js(?=')/g) ?? [])
    .filter((name) => built.includes(`'${name}'`) && !others.includes(name));
  expect(named).toContain('ask-bridge.cjs');
  const bundle = readFileSync(join(root, 'scripts/mcpb.mjs'), 'utf8');
  const missing = named.filter((name) => !bundle.includes(`'${name}'`));
  expect(missing).toEqual([]);
});
