import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../test/kit/workspaces/temp-workspace.ts';
import { HostError } from '../core/errors.ts';
import { isNowhere, workspaceOf } from '../host/workspace-root.ts';
import { baseDirectoryOf, loadConfig } from './config.ts';
import type { Flags } from './overrides.ts';

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(() => workspace.remove());

function load(flags: Flags = {}, environment: Record<string, string> = {}) {
  const asked = { workspace: workspace.path, trust: true, ...flags };
  return loadConfig(asked, environment);
}

async function faultOf(
  flags: Flags = {},
  environment: Record<string, string> = {}
): Promise<string> {
  try {
    await load(flags, environment);
  } catch (error) {
    if (error instanceof HostError && error.code === 'config_invalid')
      return error.message;
    throw error;
  }
  throw new Error('It was taken.');
}

const inFile = (value: unknown) =>
  workspace.write('.trouperc.json', JSON.stringify(value));

test('without any setting, the defaults apply', async () => {
  expect(await load()).toMatchObject({
    workspace: workspace.path,
    file: undefined,
    engines: {},
    plugins: [],
    onlyEngines: undefined,
    maxAccess: 'full',
    maxConcurrent: 8,
    maxDepth: 2,
    onDisconnect: 'keep',
    iac: { entries: 200, megabytes: 4 },
    journal: { megabytes: 64 },
    strict: false
  });
});

test('a flag overrides the environment, which overrides the file', async () => {
  inFile({ maxAccess: 'read', onDisconnect: 'stop', maxDepth: 5 });
  const environment = {
    TROUPE_MAX_ACCESS: 'write',
    TROUPE_ON_DISCONNECT: 'keep'
  };
  expect(await load({ maxAccess: 'full' }, environment)).toMatchObject({
    maxAccess: 'full',
    onDisconnect: 'keep',
    maxDepth: 5,
    maxConcurrent: 8
  });
  expect(await load({}, environment)).toMatchObject({ maxAccess: 'write' });
  expect(await load()).toMatchObject({
    maxAccess: 'read',
    onDisconnect: 'stop'
  });
});

test('numbers and lists of the environment are read', async () => {
  const environment = {
    TROUPE_MAX_CONCURRENT: '3',
    TROUPE_MAX_DEPTH: '4',
    TROUPE_TOOLSETS: ' spawn , runs,',
    TROUPE_ENGINES: 'claude,codex'
  };
  expect(await load({}, environment)).toMatchObject({
    maxConcurrent: 3,
    maxDepth: 4,
    toolsets: ['spawn', 'runs'],
    onlyEngines: ['claude', 'codex']
  });
  expect(await load({ engines: 'grok' }, environment)).toMatchObject({
    onlyEngines: ['grok']
  });
});

test('an empty variable counts as absent', async () => {
  inFile({ maxAccess: 'read' });
  const environment = {
    TROUPE_MAX_ACCESS: '',
    TROUPE_MAX_CONCURRENT: '',
    TROUPE_TOOLSETS: ' ,',
    TROUPE_ENGINES: '',
    CLAUDE_PROJECT_DIR: ''
  };
  expect(await load({}, environment)).toMatchObject({
    maxAccess: 'read',
    maxConcurrent: 8,
    onlyEngines: undefined
  });
});

test('flags and environment count with an empty file, too', async () => {
  for (const text of ['', '{}', '{ }\n']) {
    const config = workspace.write('empty.json', text);
    expect(await load({ config, maxAccess: 'read' })).toMatchObject({
      maxAccess: 'read',
      file: config
    });
  }
});

test.each([
  ['.trouperc', 'maxDepth: 7'],
  ['.trouperc', '{"maxDepth": 7}'],
  ['.trouperc.json', '{"maxDepth": 7}'],
  ['.trouperc.yaml', 'maxDepth: 7'],
  ['.config/trouperc.yml', 'maxDepth: 7'],
  ['troupe.config.mjs', 'export default { maxDepth: 7 };'],
  ['troupe.config.cjs', 'module.exports = { maxDepth: 7 };'],
  ['package.json', '{"troupe": {"maxDepth": 7}}']
])('%s is found in the workspace', async (name, text) => {
  const file = workspace.write(name, text);
  expect(await load()).toMatchObject({ maxDepth: 7, file });
});

test('a package.json that only depends on troupe configures nothing', async () => {
  workspace.write('package.json', '{"devDependencies": {"troupe": "1"}}');
  expect(await load()).toMatchObject({ maxDepth: 2, file: undefined });
});

test('a named file is read wherever it is', async () => {
  const config = workspace.write('deep/below/x.json', '{"maxDepth": 9}');
  const loaded = await load({ config });
  expect(loaded).toMatchObject({ maxDepth: 9, file: config });
  expect(baseDirectoryOf(loaded)).toBe(`${workspace.path}/deep/below`);
});

test('an engine that is only named has empty settings', async () => {
  inFile({ engines: { openai: true, codex: { model: 'x', args: ['-v'] } } });
  expect((await load()).engines).toEqual({
    openai: {},
    codex: { model: 'x', args: ['-v'] }
  });
});

test('every fault is reported with its path and reason', async () => {
  inFile({
    maxDepht: 3,
    maxConcurrent: 0,
    engines: { codex: { modle: 'x', baseUrl: 'nowhere' } },
    iac: { entries: 201 }
  });
  const fault = await faultOf();
  const file = `in ${workspace.path}/.trouperc.json: `;
  for (const part of [
    '"maxDepht"',
    `maxConcurrent ${file}`,
    `engines.codex ${file}`,
    `iac.entries ${file}`
  ])
    expect(fault).toContain(part);
});

test.each([
  [
    { TROUPE_MAX_CONCURRENT: 'many' },
    /maxConcurrent from TROUPE_MAX_CONCURRENT: /
  ],
  [{ TROUPE_MAX_DEPTH: '1.5' }, /maxDepth from TROUPE_MAX_DEPTH: /],
  [{ TROUPE_MAX_ACCESS: 'root' }, /maxAccess from TROUPE_MAX_ACCESS: /],
  [{ TROUPE_TOOLSETS: 'spawn,nope' }, /toolsets\.1 from TROUPE_TOOLSETS: /]
])('%j is refused by its key', async (environment, reason) => {
  expect(await faultOf({}, { ...environment })).toMatch(reason);
});

test.each(['ftp://a.example', 'http://', 'https://me:secret@a.example/v1'])(
  '%j is not a valid address of a provider',
  async (baseUrl) => {
    inFile({ engines: { grok: { baseUrl } } });
    const fault = await faultOf();
    expect(fault).toContain('engines.grok.baseUrl');
    expect(fault).not.toContain('secret');
  }
);

test.each([
  ['.trouperc.json', '{"maxDepth": 3'],
  ['.trouperc.yaml', 'a: [b'],
  ['troupe.config.mjs', 'throw new Error("boom")'],
  ['.trouperc.json', '[1]'],
  ['.trouperc.json', '"text"']
])('a %s of %s stops the start', async (name, text) => {
  workspace.write(name, text);
  expect(await faultOf()).toMatch(/cannot be read|is not valid/);
});

test('a missing named file stops the start', async () => {
  expect(await faultOf({ config: '/nowhere/x.json' })).toMatch(/ENOENT/);
});

test('files in place of directories do no harm', async () => {
  workspace.write('.config', 'a file');
  expect(await load()).toMatchObject({ file: undefined });
  const file = workspace.write('file', '');
  expect(await faultOf({ workspace: file })).toMatch(/is not a directory/);
  expect(await faultOf({ workspace: '/nowhere' })).toMatch(/does not exist/);
});

test('the workspace is the flag, else CLAUDE_PROJECT_DIR, else the cwd', () => {
  const environment = { CLAUDE_PROJECT_DIR: workspace.home };
  const { path } = workspace;
  expect(workspaceOf({ workspace: path }, environment)).toBe(path);
  expect(workspaceOf({}, environment)).toBe(workspace.home);
  expect(workspaceOf({}, {})).toBe(process.cwd());
});

test('only the root and the home directory belong to no project', () => {
  expect(isNowhere('/')).toBe(true);
  expect(isNowhere(workspace.path)).toBe(false);
});

test('the home directory is recognized by either path, even if it is missing', () => {
  const link = join(workspace.path, 'link');
  symlinkSync(workspace.home, link);
  for (const home of [workspace.home, link, '/no/such/home']) {
    vi.stubEnv('HOME', home);
    expect(isNowhere(home)).toBe(true);
    expect(isNowhere(workspace.path)).toBe(false);
  }
  vi.stubEnv('HOME', link);
  expect(isNowhere(workspace.home)).toBe(true);
  vi.unstubAllEnvs();
});
