import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../testing/temp-workspace.ts';
import { loadEngines } from './load-engines.ts';

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(() => workspace.remove());

const engine = {
  kind: 'cli',
  name: 'mine',
  description: 'Mine.',
  command: 'mine',
  args: () => []
};

const source = (name: string) =>
  `export default { kind: 'cli', name: '${name}', description: 'x',
    command: 'x', args: () => [] };`;

const load = (...plugins: unknown[]) => loadEngines(plugins, workspace.path);

async function problemOf(plugin: unknown): Promise<string> {
  const { engines, faults } = await load(plugin);
  expect(engines).toEqual([]);
  return faults[0]?.problem ?? '';
}

test('an engine is eight lines of a module without import', async () => {
  workspace.write('engines/aider.mjs', source('aider'));
  const { engines, faults } = await load('./engines/aider.mjs');
  expect(faults).toEqual([]);
  expect(engines.map(({ name }) => name)).toEqual(['aider']);
});

test('a plugin is a path, absolute or relative, a package, or an object', async () => {
  const absolute = workspace.write('a.mjs', source('absolute'));
  workspace.write('deep/b.mjs', source('relative'));
  workspace.write(
    'node_modules/p/package.json',
    '{"type": "module", "exports": "./i.js"}'
  );
  workspace.write('node_modules/p/i.js', source('package'));
  workspace.write(
    'node_modules/@s/q/package.json',
    '{"exports": {"import": "./i.mjs"}}'
  );
  workspace.write('node_modules/@s/q/i.mjs', source('esm-only'));
  const { engines, faults } = await load(
    absolute,
    './deep/../deep/b.mjs',
    'p',
    '@s/q',
    engine
  );
  expect(faults).toEqual([]);
  expect(engines.map(({ name }) => name)).toEqual([
    'absolute',
    'relative',
    'package',
    'esm-only',
    'mine'
  ]);
});

test('a plugin that does not load is left out, and the others are not', async () => {
  workspace.write('bad.mjs', 'throw new Error("boom")');
  workspace.write('good.mjs', source('good'));
  const { engines, faults } = await load('./bad.mjs', './good.mjs', 7);
  expect(engines.map(({ name }) => name)).toEqual(['good']);
  expect(faults).toMatchObject([
    { plugin: './bad.mjs', problem: 'boom' },
    { plugin: 'plugins[2]' }
  ]);
});

test('each fault of a plugin is named', async () => {
  workspace.write('none.mjs', 'export const engine = {};');
  workspace.write('syntax.mjs', 'export default {');
  workspace.write('throws.mjs', 'throw "just text"');
  expect(await problemOf('./none.mjs')).toMatch(/no default export/);
  expect(await problemOf('./syntax.mjs')).toMatch(/Unexpected|parse/i);
  expect(await problemOf('./throws.mjs')).toBe('just text');
  expect(await problemOf('./missing.mjs')).toMatch(/missing\.mjs/);
  expect(await problemOf('not-installed')).toMatch(/not-installed/);
  expect(await problemOf(null)).not.toBe('');
});

test.each([
  [{ kind: 'robot' }, /kind/],
  [{ name: 'Upper' }, /name: lower-case/],
  [{ name: '9lives' }, /name: lower-case/],
  [{ name: 'a_b' }, /name: lower-case/],
  [{ name: 'x'.repeat(27) }, /name: lower-case/],
  [{ description: '' }, /description/],
  [{ description: 'x'.repeat(501) }, /description/],
  [{ command: '' }, /command/],
  [{ args: ['-p'] }, /args: must be a function/],
  [{ read: {} }, /read: must be a function/],
  [{ kind: 'api', keyNames: 'K' }, /keyNames/],
  [{ kind: 'api', keyNames: ['K'] }, /generate: must be a function/]
])('%j is refused by its field', async (change, reason) => {
  expect(await problemOf({ ...engine, ...change })).toMatch(reason);
});

test('members that the host does not know are the own of the plugin', async () => {
  const { engines } = await load({ ...engine, mine: 1 });
  expect(engines[0]).toHaveProperty('mine', 1);
});
