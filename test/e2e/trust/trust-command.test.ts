import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { keyPaths } from '../../docs/key-paths.ts';
import { packageRoot } from '../../kit/judges/documents.ts';
import { runCommand } from '../../kit/servers/command-line.ts';
import { openScreen } from '../../kit/servers/screen.ts';
import { asked, askingClone } from '../../kit/workspaces/asking-clone.ts';
import {
  type ClonedWorkspace,
  untrusted
} from '../../kit/workspaces/cloned-workspace.ts';
import { testTmux } from '../../kit/workspaces/tmux-stage.ts';

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

test('without a terminal it shows programs, hosts and names, and grants nothing', async () => {
  const { code, stdout, stderr } = await troupe('trust');
  expect(code).toBe(1);
  expect(stdout).toContain(`You do not trust ${clone.path}. It asks for:`);
  for (const shown of [
    'plugins: runs ./engines/pong.mjs',
    'engines.claude.env: sets SOME_NAME for claude',
    'engines.codex.command: starts /opt/codex for codex',
    'engines.codex.baseUrl: sends the prompts and the key of codex to proxy.example',
    'squad.runTemplatePath: starts members of squads by the command in own.template',
    'agents/planner.md: takes the place of the built-in role planner'
  ])
    expect(stdout).toContain(`  ${shown}`);
  expect(stdout).not.toContain('some-value');
  expect(stderr).toContain('To grant it: troupe trust --yes');
  expect(await leftOut()).toEqual(asked);
});

test('what is granted counts until it is taken back', async () => {
  expect((await troupe('trust', '--yes')).code).toBe(0);
  expect(await leftOut()).toEqual([]);
  expect((await troupe('trust')).code).toBe(0);
  expect((await troupe('engines')).stdout).toContain('spawn_pong');
  const list = await troupe('trust', '--list');
  expect(list.stdout).toMatch(new RegExp(`^${clone.path} +20\\d\\d-`));
  const store = join(clone.home, '.troupe', 'trust');
  const [name = ''] = readdirSync(store).filter((one) => /json$/.test(one));
  expect(statSync(store).mode & 0o777).toBe(0o700);
  expect(statSync(join(store, name)).mode & 0o777).toBe(0o600);
  expect((await troupe('trust', '--revoke')).code).toBe(0);
  expect(await leftOut()).toEqual(asked);
  expect((await troupe('trust', '--list')).stdout).toBe('');
});

test('its documents match the page', async () => {
  const json = async (...args: string[]) =>
    JSON.parse((await troupe('trust', '--json', ...args)).stdout);
  const page = readFileSync(join(packageRoot, 'docs/guides/trust.md'), 'utf8');
  const [, shown = ''] = /```json\n([\s\S]*?)```/.exec(page) ?? [];
  const document = await json();
  expect(new Set(keyPaths(document))).toEqual(
    new Set(keyPaths(JSON.parse(shown)))
  );
  expect(document).toMatchObject({ trusted: false, changed: false });
  expect(await json('--yes')).toMatchObject({
    trusted: true,
    asked: asked.map((setting) => ({ setting, trusted: true }))
  });
  expect(await json('--list')).toMatchObject({
    workspaces: [{ workspace: clone.path }]
  });
  const { path: workspace } = clone;
  expect(await json('--revoke')).toEqual({ workspace, revoked: true });
  expect(await json('--revoke')).toEqual({ workspace, revoked: false });
});

test('an agent cannot trust a workspace', async () => {
  const env = { ...untrusted, TROUPE_DEPTH: '1' };
  const args = ['trust', '--yes'];
  const { code, stderr } = await runCommand(clone, args, { env });
  expect(code).toBe(1);
  expect(stderr).toContain('An agent cannot trust a workspace.');
  expect(await leftOut()).toEqual(asked);
});

test('init trusts nothing that it did not write, and keeps what was trusted', async () => {
  const init = (...args: string[]) =>
    troupe('init', 'claude', '--yes', '--no-check', ...args);
  const { code, stdout, stderr } = await init('--access', 'read');
  expect(code).toBe(0);
  expect(stdout).toContain('plugins: runs ./engines/pong.mjs');
  expect(stderr).toContain('are left out until you run: troupe trust');
  expect(await leftOut()).toEqual(asked);
  await troupe('trust', '--yes');
  await init('--access', 'write');
  expect(await leftOut()).toEqual([]);
  clone.write('engines/lib.mjs', 'export {};\n');
  await init('--access', 'read');
  expect(await leftOut()).not.toEqual([]);
});

test('init tries no entry of a project that trusts the project', async () => {
  clone.write(
    '.mcp.json',
    JSON.stringify({
      mcpServers: {
        agents: {
          command: 'node',
          args: [join(dist, 'troupe.cjs'), 'mcp'],
          env: { TROUPE_TRUST: '1' }
        }
      }
    })
  );
  const { stderr } = await troupe('init', 'claude', '--yes');
  expect(stderr).toContain('is not tried here');
  expect(clone.ran()).toEqual([]);
});

const dist = join(import.meta.dirname, '../../../dist');

testTmux('on a terminal a person is asked, and No is the default', async () => {
  const screen = openScreen(clone, 100, 40);
  try {
    screen.run('TROUPE_TRUST= troupe trust; echo "exit $?"');
    await screen.shows('Trust this workspace?');
    screen.press('Enter');
    await screen.shows('exit 1');
    expect(await leftOut()).toEqual(asked);
    screen.run('clear; TROUPE_TRUST= troupe trust; echo "exit $?"');
    await screen.shows('Trust this workspace?');
    screen.press('y');
    await screen.shows('exit 0');
    expect(await leftOut()).toEqual([]);
  } finally {
    screen.close();
  }
});
