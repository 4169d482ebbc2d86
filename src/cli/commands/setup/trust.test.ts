import { rmSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { commandHere } from '../../../../test/kit/servers/command-here.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../../test/kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
  workspace.write('troupe.config.json', '{"maxConcurrent": 99}');
});

afterEach(() => workspace.remove());

const trust = (args: string[] = [], env: Record<string, string> = {}) =>
  commandHere(
    workspace,
    ['trust', '--workspace', workspace.path, ...args],
    env
  );

async function json(args: string[] = [], env?: Record<string, string>) {
  const { code, stdout } = await trust([...args, '--json'], env);
  return { code, ...JSON.parse(stdout) };
}

const asked = (trusted: boolean) => [
  { setting: 'maxConcurrent', allows: expect.any(String), trusted }
];

test('in a pipe nothing is trusted without --yes', async () => {
  const { code, stdout, stderr } = await trust();
  expect(code).toBe(1);
  expect(stdout).toMatch(/^You do not trust .*\n\n {2}maxConcurrent: raises/);
  expect(stderr).toContain('not trusted: nothing was granted.');
  expect(await json()).toMatchObject({
    code: 1,
    trusted: false,
    asked: asked(false)
  });
  expect((await json(['--list'])).workspaces).toEqual([]);
});

test('with --yes the workspace is trusted as it is now', async () => {
  expect(await json(['--yes'])).toMatchObject({
    code: 0,
    trusted: true,
    asked: asked(true)
  });
  const { code, stdout, stderr } = await trust();
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/^You trust /);
  expect(await json()).toMatchObject({ changed: false, asked: asked(true) });
});

test('trust ends when a file changes', async () => {
  await trust(['--yes']);
  workspace.write('troupe.config.json', '{"maxConcurrent": 98}');
  expect(await json()).toMatchObject({
    code: 1,
    trusted: false,
    changed: true
  });
  expect((await trust()).stdout).toContain('This has changed');
});

test('no variable counts as the consent', async () => {
  expect((await json([], { TROUPE_TRUST: '1' })).trusted).toBe(false);
});

test('a workspace that asks for nothing needs no trust', async () => {
  workspace.write('troupe.config.json', '{"maxConcurrent": 1}');
  const { code, stderr } = await trust();
  expect(code).toBe(0);
  expect(stderr).toContain('asks for nothing that needs your trust');
  expect((await json(['--list'])).workspaces).toEqual([]);
});

test('trust can be revoked, also where the workspace is gone', async () => {
  await trust(['--yes']);
  expect((await json(['--list'])).workspaces).toMatchObject([
    { workspace: workspace.path }
  ]);
  expect(await json(['--revoke'])).toMatchObject({ code: 0, revoked: true });
  expect(await json(['--revoke'])).toMatchObject({ code: 0, revoked: false });
  expect((await trust()).code).toBe(1);
  await trust(['--yes']);
  rmSync(workspace.path, { recursive: true });
  expect((await json(['--revoke'])).revoked).toBe(true);
});

test.each([
  ['--yes', '--revoke'],
  ['--yes', '--list'],
  ['--revoke', '--list']
])('%s and %s exclude each other', async (...flags) => {
  const { code, stderr } = await trust(flags);
  expect(code).toBe(1);
  expect(stderr).toContain('exclude each other');
});

test('an agent cannot trust a workspace', async () => {
  const { code, stderr } = await trust(['--yes'], {
    TROUPE_AGENT_ID: '0badcafe',
    TROUPE_DEPTH: '1'
  });
  expect(code).toBe(1);
  expect(stderr).toContain('An agent cannot trust a workspace.');
  expect((await json()).trusted).toBe(false);
});
