import {
  chmodSync,
  cpSync,
  mkdirSync,
  readdirSync,
  renameSync,
  symlinkSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { runCommand } from '../../kit/servers/command-line.ts';
import {
  asked,
  askedSettings,
  askingClone
} from '../../kit/workspaces/asking-clone.ts';
import {
  type ClonedWorkspace,
  pongPlugin,
  untrusted
} from '../../kit/workspaces/cloned-workspace.ts';

let clone: ClonedWorkspace;

beforeEach(() => {
  clone = askingClone();
});

afterEach(() => clone.remove());

const troupe = (...args: string[]) =>
  runCommand(clone, args, { env: untrusted });

/** What is left out now, by the list of settings. */
async function leftOut(...args: string[]): Promise<string[]> {
  const { stdout } = await troupe('config', '--json', ...args);
  return JSON.parse(stdout).left_out;
}

const ofConfiguration = asked.filter((name) => !name.startsWith('agents/'));

test.each([
  [
    'a value',
    'package.json',
    JSON.stringify({ troupe: { ...askedSettings, maxDepth: 1 } }),
    ofConfiguration
  ],
  ['a plugin', 'engines/pong.mjs', pongPlugin('/* new */'), ['plugins']],
  ['what a plugin imports', 'engines/lib.mjs', 'export {};\n', ['plugins']],
  ['a template', 'own.template', 'sh -c x', ['squad.runTemplatePath']],
  ['a role', 'agents/planner.md', 'You do evil.', ['agents/planner.md']],
  ['a new role', 'agents/debugger.md', 'Evil.', ['agents/debugger.md']]
])('a change of %s asks again', async (_, file, text, expected) => {
  await troupe('trust', '--yes');
  clone.write(file, text);
  expect(await leftOut()).toEqual(expected);
  const { code, stdout } = await troupe('trust');
  expect(code).toBe(1);
  expect(stdout).toContain('This has changed since you trusted it');
  const { stderr } = await troupe('list');
  expect(stderr).toContain('has changed since you trusted it, so this is left');
  await troupe('trust', '--yes');
  expect(await leftOut()).toEqual([]);
});

test('a package.json may change but for its key', async () => {
  await troupe('trust', '--yes');
  const other = { name: 'y', version: '2.0.0', troupe: askedSettings };
  clone.write('package.json', JSON.stringify(other, null, 4));
  expect(await leftOut()).toEqual([]);
});

test('a workspace that was moved or copied has to be trusted again', async () => {
  await troupe('trust', '--yes');
  const copy = join(clone.home, 'copy');
  cpSync(clone.path, copy, { recursive: true });
  expect(await leftOut('--workspace', copy)).toEqual(asked);
  renameSync(clone.path, `${clone.path}-moved`);
  mkdirSync(clone.path);
  expect(await leftOut('--workspace', `${clone.path}-moved`)).toEqual(asked);
});

describe('a file that --config names', () => {
  const wide = JSON.stringify({ maxConcurrent: 99 });

  test('needs trust inside the workspace', async () => {
    clone.write('other.json', wide);
    expect(await leftOut('--config', 'other.json')).toContain('maxConcurrent');
    await troupe('trust', '--yes', '--config', 'other.json');
    expect(await leftOut('--config', 'other.json')).toEqual([]);
    expect(await leftOut()).toEqual(ofConfiguration);
  });

  test('needs trust where a link elsewhere leads into the workspace', async () => {
    clone.write('other.json', wide);
    const link = join(clone.home, 'link.json');
    symlinkSync(join(clone.path, 'other.json'), link);
    expect(await leftOut('--config', link)).toContain('maxConcurrent');
  });

  test('needs none outside of the workspace', async () => {
    const own = join(clone.home, 'own.json');
    writeFileSync(own, wide);
    expect(await leftOut('--config', own)).toEqual(['agents/planner.md']);
  });
});

test.each([
  ['is a link', (file: string) => linkTo(file)],
  ['may be written by others', (file: string) => chmodSync(file, 0o666)],
  ['is broken', (file: string) => writeFileSync(file, '{')]
])('a grant that %s does not count', async (_, spoil) => {
  await troupe('trust', '--yes');
  const store = join(clone.home, '.troupe', 'trust');
  for (const name of readdirSync(store)) spoil(join(store, name));
  expect(await leftOut()).toEqual(asked);
});

function linkTo(file: string): void {
  renameSync(file, `${file}.real`);
  symlinkSync(`${file}.real`, file);
}

test('a store inside of the workspace is refused', async () => {
  const env = { ...untrusted, TROUPE_HOME: join(clone.path, '.troupe') };
  const { code, stderr } = await runCommand(clone, ['list'], { env });
  expect(code).toBe(1);
  expect(stderr).toContain('TROUPE_HOME is ');
});
