import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runCommand } from '../../kit/servers/command-line.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(() => workspace.remove());

/** The words of the line about a setting. */
function lineOf(stdout: string, setting: string): string[] {
  const lines = stdout.split('\n').map((line) => line.split(/ {2,}/));
  return lines.find(([name]) => name === setting) ?? [];
}

test('config shows each setting with where it comes from, and no key', async () => {
  const file = workspace.write(
    'troupe.config.json',
    JSON.stringify({
      engines: { codex: { timeoutSeconds: 900, env: { MY_KEY: 'hush' } } },
      maxAccess: 'write',
      maxConcurrent: 3
    })
  );
  const env = { TROUPE_MAX_CONCURRENT: '5', ENGINE: 'codex' };
  const { code, stdout, stderr } = await runCommand(workspace, ['config'], {
    env
  });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const settings = {
    'engines.codex.timeoutSeconds': ['file', '900'],
    'engines.codex.env.MY_KEY': ['file', '(hidden)'],
    maxAccess: ['file', 'write'],
    maxConcurrent: ['TROUPE_MAX_CONCURRENT', '5'],
    'squad.engine': ['ENGINE', 'codex'],
    maxDepth: ['default', '2'],
    toolsets: ['default', '["spawn","runs","squad","council"]'],
    rolesDirectory: ['default', 'agents']
  };
  for (const [name, words] of Object.entries(settings))
    expect(lineOf(stdout, name)).toEqual([name, ...words]);
  expect(lineOf(stdout, 'file')).toEqual(['file', file]);
  expect(stdout).not.toContain('hush');
});

test('config shows the default engine of squads', async () => {
  const { stdout } = await runCommand(workspace, ['config']);
  const words = ['squad.engine', 'default', 'claude'];
  expect(lineOf(stdout, 'squad.engine')).toEqual(words);
});

test('config --json has stable keys, and nothing is written', async () => {
  const flags = ['config', '--json', '--engines', 'codex'];
  const { code, stdout } = await runCommand(workspace, flags);
  const { settings, ...rest } = JSON.parse(stdout);
  expect({ code, ...rest }).toEqual({
    code: 0,
    workspace: workspace.path,
    file: null,
    only_engines: ['codex'],
    left_out: []
  });
  expect(settings).toContainEqual({
    path: ['maxAccess'],
    value: 'full',
    from: 'default'
  });
  const there = readdirSync(workspace.path);
  expect(there.filter((name) => /^(\.agents|logs)$/.test(name))).toEqual([]);
  expect(existsSync(join(workspace.home, '.agents-council'))).toBe(false);
});

test('config reports what is wrong and exits with 1', async () => {
  workspace.write('troupe.config.json', '{"maxAccess": "some"}');
  const { code, stdout, stderr } = await runCommand(workspace, ['config']);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain('maxAccess in ');
});
