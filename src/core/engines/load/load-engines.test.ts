import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../../test/kit/workspaces/temp-workspace.ts';
import { toolNameOf } from '../../../interfaces/mcp/tool/spawn-tool-name.ts';
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

test('an engine takes eight lines of a module without imports', async () => {
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

test('a plugin that does not load is skipped, and the rest is loaded', async () => {
  workspace.write('bad.mjs', 'throw new Error("boom")');
  workspace.write('good.mjs', source('good'));
  const { engines, faults, indexes } = await load('./bad.mjs', './good.mjs', 7);
  expect(engines.map(({ name }) => [name])).toEqual([['good']]);
  expect([...indexes.values()]).toEqual([1]);
  expect(faults).toMatchObject([
    { plugin: './bad.mjs', problem: 'it threw while it was loaded: boom' },
    { plugin: 'plugins[2]', problem: expect.stringContaining('not an engine') }
  ]);
});

test('plugins load in parallel, so one can wait for another', async () => {
  workspace.write(
    'first.mjs',
    `globalThis.meeting ??= {};
     await new Promise((done) => meeting.begun ? done() : (meeting.begin = done));
     ${source('first')}`
  );
  workspace.write(
    'second.mjs',
    `globalThis.meeting ??= {};
     meeting.begun = true;
     meeting.begin?.();
     ${source('second')}`
  );
  const { engines, faults } = await load('./first.mjs', './second.mjs');
  expect(faults).toEqual([]);
  expect(engines.map(({ name }) => name)).toEqual(['first', 'second']);
});

test('a module that never finishes loading is abandoned', async () => {
  workspace.write('endless.mjs', 'await new Promise(() => {});');
  const loaded = await loadEngines(['./endless.mjs'], workspace.path, 50);
  expect(loaded.faults[0]?.problem).toMatch(/still loading after 0\.05 s/);
});

test.each(['export default { then() {} };', 'export function then() {}'])(
  'a module that looks like a promise is abandoned as well: %s',
  async (code) => {
    workspace.write('promise.mjs', code);
    const loaded = await loadEngines(['./promise.mjs'], workspace.path, 50);
    expect(loaded.faults[0]?.problem).toMatch(/still loading/);
  }
);

test('a module that reads stdin finds it empty and consumes nothing', async () => {
  const real = Object.getOwnPropertyDescriptor(process, 'stdin') ?? {};
  const value = Readable.from(['for us']);
  Object.defineProperty(process, 'stdin', { configurable: true, value });
  workspace.write(
    'program.mjs',
    `process.stdin.on('data', () => {});
     for await (const chunk of process.stdin) throw new Error(chunk);
     ${source('program')}`
  );
  const { faults } = await load('./program.mjs');
  Object.defineProperty(process, 'stdin', real);
  expect(faults).toEqual([]);
  expect(await text(value)).toBe('for us');
});

test('the first of two plugins with the same name is kept', async () => {
  const { engines, faults } = await load(engine, { ...engine, command: 'x' });
  expect(engines).toMatchObject([{ command: 'mine' }]);
  expect(faults).toEqual([
    {
      plugin: 'plugins[1]',
      problem: 'plugins[0] has the name "mine" already; rename one of them'
    }
  ]);
});

test('two names never give the same tool name', () => {
  const name = fc.stringMatching(/^[a-z][a-z0-9-]{0,25}$/);
  const toolOf = (text: string) =>
    toolNameOf({ ...engine, kind: 'cli', name: text });
  fc.assert(
    fc.property(name, name, (one, other) => {
      expect(toolOf(one) === toolOf(other)).toBe(one === other);
    })
  );
});

test('every fault of a plugin is reported', async () => {
  workspace.write('none.mjs', 'export const engine = {};');
  workspace.write('syntax.mjs', 'export default {');
  workspace.write('throws.mjs', 'throw "just text"');
  workspace.write('node_modules/bare/package.json', '{"exports": {}}');
  workspace.write('node_modules/torn/package.json', '{"exports"');
  workspace.write('node_modules/unbuilt/package.json', '{"exports": "./i.js"}');
  expect(await problemOf('./none.mjs')).toMatch(/no default export/);
  expect(await problemOf('./throws.mjs')).toMatch(/loaded: just text$/);
  expect(await problemOf('./missing.mjs')).toMatch(/no file \/.*missing\.mjs/);
  expect(await problemOf('none.mjs')).toMatch(/write "\.\/none\.mjs"/);
  expect(await problemOf('absent/sub')).toMatch(/npm install absent$/);
  expect(await problemOf('bare')).toMatch(/does not export "bare"/);
  expect(await problemOf('bare/sub')).toMatch(/does not export "bare\/sub"/);
  expect(await problemOf('torn')).toMatch(/torn.*is broken; install it again/);
  expect(await problemOf('unbuilt')).toMatch(/no file .*i\.js; is it built/);
  expect(await problemOf('Not A Package')).toMatch(/neither a path/);
  expect(await problemOf(null)).toMatch(/expected object/);
});

test('the default export of a module compiled to CommonJS is found', async () => {
  workspace.write(
    'compiled.cjs',
    `Object.defineProperty(exports, '__esModule', { value: true });
     exports.default = { kind: 'cli', name: 'compiled', description: 'x',
       command: 'x', args: () => [] };`
  );
  const { engines, faults } = await load('./compiled.cjs');
  expect(faults).toEqual([]);
  expect(engines).toMatchObject([{ name: 'compiled' }]);
});

test.each([
  [{ kind: 'robot' }, /kind: must be "cli" or "api"/],
  [{ name: 'Upper' }, /name: lower-case/],
  [{ name: '9lives' }, /name: lower-case/],
  [{ name: 'a_b' }, /name: lower-case/],
  [{ name: 'x'.repeat(27) }, /name: lower-case/],
  [{ label: 'two\nlines' }, /label: must be one line/],
  [{ description: '' }, /description/],
  [{ description: 'x'.repeat(501) }, /description/],
  [{ models: { default: 1 } }, /models\.default/],
  [{ models: { aliases: { a: null } } }, /models\.aliases\.a/],
  [{ models: { retired: [] } }, /models\.retired/],
  [{ timeoutSeconds: '5' }, /timeoutSeconds: must be seconds/],
  [{ timeoutSeconds: -1 }, /timeoutSeconds/],
  [{ failure: {} }, /failure: must be a function/],
  [{ command: '' }, /command/],
  [{ command: 'a\0b' }, /command: holds a NUL/],
  [{ install: 7 }, /install/],
  [{ access: { read: 'enforced' } }, /access\.write.*access\.full/],
  [{ access: { read: 'maybe' } }, /access\.read/],
  [{ tools: 'all' }, /tools: must be a function/],
  [{ idleTimeoutSeconds: Number.NaN }, /idleTimeoutSeconds/],
  [{ args: ['-p'] }, /args: must be a function/],
  [{ stdin: 'x' }, /stdin: must be a function/],
  [{ env: { keep: 'A' } }, /env\.keep/],
  [{ env: { drop: [''] } }, /env\.drop\[0\]/],
  [{ env: { set: {} } }, /env\.set: must be a function/],
  [{ read: {} }, /read: must be a function/],
  [{ resumes: 'yes' }, /resumes/],
  [{ probe: { version: '-v' } }, /probe\.version/],
  [{ probe: { login: { args: [] } } }, /probe\.login\.read/],
  [{ probe: { loginHint: 1 } }, /probe\.loginHint/],
  [{ probe: { env: { A: 1 } } }, /probe\.env\.A/],
  [{ kind: 'api', keyNames: 'K' }, /keyNames/],
  [{ kind: 'api', keyNames: [1] }, /keyNames\[0\]/],
  [{ kind: 'api', keyNames: ['K'] }, /generate: must be a function/],
  [{ kind: 'api', keyUrl: 1 }, /keyUrl/],
  [{ kind: 'api', prices: 1 }, /prices/]
])('%j is refused by its field', async (change, reason) => {
  expect(await problemOf({ ...engine, ...change })).toMatch(reason);
});

test('members that the host does not know belong to the plugin', async () => {
  const { engines } = await load({ ...engine, mine: 1 });
  expect(engines[0]).toHaveProperty('mine', 1);
});
