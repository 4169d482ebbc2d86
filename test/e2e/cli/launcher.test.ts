import { spawnSync } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { testEnvironment } from '../../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

const dist = join(import.meta.dirname, '../../../dist');

let workspace: TempWorkspace;
let copy: string;

beforeEach(() => {
  workspace = createTempWorkspace();
  copy = join(workspace.home, 'dist');
  cpSync(dist, copy, { recursive: true });
  rmSync(join(copy, 'cache'), { recursive: true, force: true });
});

afterEach(() => workspace.remove());

/** One life of a server whose client leaves at once, or after some time. */
function live(
  env: Record<string, string> = {},
  program = 'troupe.cjs',
  seconds = 0
): void {
  const words = [join(copy, program), 'mcp', '--workspace', workspace.path];
  const { status, stdout, stderr } = spawnSync(
    'sh',
    ['-c', `sleep ${seconds} | "$@"`, 'sh', process.execPath, ...words],
    { encoding: 'utf8', env: testEnvironment(workspace, env) }
  );
  expect({ status, stdout, stderr }).toEqual({
    status: 0,
    stdout: '',
    stderr: ''
  });
}

function caches(): string[] {
  return readdirSync(join(copy, 'cache')).sort();
}

/** Checks that another server uses the only cache and leaves it alone. */
function expectUsed(another: () => void): void {
  const [name = ''] = caches();
  const kept = readFileSync(join(copy, 'cache', name));
  another();
  expect(caches()).toEqual([name]);
  expect(readFileSync(join(copy, 'cache', name)).equals(kept)).toBe(true);
}

test('compiled code is kept at the first start and left alone after', () => {
  live();
  expectUsed(() => live());
});

test('compiled code of a server that has run for seconds is used, too', () => {
  // After a second, a server changes a setting of V8.
  live({}, 'troupe.cjs', 2);
  expectUsed(() => live());
});

test('council mcp starts from the code that troupe mcp has kept', () => {
  live();
  expectUsed(() => live({}, 'council.cjs'));
});

test('council mcp keeps compiled code for troupe mcp', () => {
  live({}, 'council.cjs');
  const before = caches();
  live();
  expect(before).toHaveLength(1);
  expect(caches()).toEqual(before);
});

test('each bundle has compiled code of its own', () => {
  live();
  for (const words of [['list'], ['engines', '--json'], ['statusline']])
    spawnSync(process.execPath, [join(copy, 'troupe.cjs'), ...words], {
      input: '{}',
      cwd: workspace.path,
      env: testEnvironment(workspace)
    });
  const bundles = caches().map((name) => name.replace(/-.*/, ''));
  expect(bundles).toEqual(['cli', 'mcp', 'statusline']);
});

test('a start under other V8 flags keeps the cache for later starts', () => {
  live();
  const [name = ''] = caches();
  const kept = readFileSync(join(copy, 'cache', name));
  live({ NODE_OPTIONS: '--max-old-space-size=512' });
  expect(caches()).toHaveLength(2);
  expect(readFileSync(join(copy, 'cache', name)).equals(kept)).toBe(true);
});

test('a damaged cache costs time only and is rebuilt', () => {
  live();
  const [name = ''] = caches();
  const path = join(copy, 'cache', name);
  rmSync(path);
  cpSync(join(copy, 'reaper.cjs'), path);
  live();
  expect(
    readFileSync(path).equals(readFileSync(join(copy, 'reaper.cjs')))
  ).toBe(false);
});

test('compiled code is on the disk before it takes its place', () => {
  const done = workspace.write('done', '');
  const hook = workspace.write(
    'hook.cjs',
    `const fs = require('node:fs');
    const { appendFileSync, fsyncSync, renameSync } = fs;
    const note = (what) => appendFileSync(${JSON.stringify(done)}, what + '\\n');
    fs.fsyncSync = (file) => { fsyncSync(file); note('sync'); };
    fs.renameSync = (from, to) => { renameSync(from, to); note(to); };`
  );
  live({ NODE_OPTIONS: `--require=${hook}` });
  const lines = readFileSync(done, 'utf8').trim().split('\n');
  const [name = ''] = caches();
  expect(lines.slice(-2)).toEqual(['sync', join(copy, 'cache', name)]);
});

test('a start loads neither crypto nor what starts processes', () => {
  const loaded = workspace.write('loaded', '');
  const hook = workspace.write(
    'hook.cjs',
    `const load = process.getBuiltinModule;
    const { appendFileSync } = require('node:fs');
    process.getBuiltinModule = (name) => {
      appendFileSync(${JSON.stringify(loaded)}, name + '\\n');
      return load(name);
    };`
  );
  live({ NODE_OPTIONS: `--require=${hook}` });
  expect(readFileSync(loaded, 'utf8')).toBe('');
});

test.each([
  [['list'], 'The command line'],
  [['doctor', '--json'], 'The command line'],
  [['mcp', '--help'], 'The command line'],
  [['mcp', '--http', '0'], 'HTTP']
])(
  'a bundle of the server alone says in a sentence that it cannot "%s"',
  (words, what) => {
    for (const file of ['cli.cjs', 'http.cjs']) rmSync(join(copy, file));
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [join(copy, 'troupe.cjs'), ...words],
      { encoding: 'utf8', env: testEnvironment(workspace) }
    );
    expect({ status, stdout, stderr }).toEqual({
      status: 1,
      stdout: '',
      stderr: `troupe: ${what} is not in this bundle, which only serves MCP over stdio. A clone of the repository has it: npm ci && npm install -g .\n`
    });
  }
);
