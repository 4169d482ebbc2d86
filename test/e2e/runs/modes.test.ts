import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { recordFolders } from '../../../src/core/state/integrity/state-guard.ts';
import {
  configureEverything,
  doEverything
} from '../../kit/agents/everything.ts';
import { until } from '../../kit/judges/until.ts';
import { runCommand } from '../../kit/servers/command-line.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import { answerOf } from '../../kit/servers/orchestrator-calls.ts';
import {
  createGitWorkspace,
  type GitWorkspace
} from '../../kit/workspaces/git-workspace.ts';
import { type Entry, treeOf } from '../../kit/workspaces/tree.ts';

let workspace: GitWorkspace;
let server: McpClient | undefined;

afterEach(async () => {
  await server?.close();
  workspace.remove();
});

/** Starts something that has that mask from the beginning. */
function under<Started>(mask: number, start: () => Started): Started {
  const before = process.umask(mask);
  try {
    return start();
  } finally {
    process.umask(before);
  }
}

/** What is a project's own: git and agents make it by the user's mask. */
const isCheckout = ({ path }: Entry) => /^\.agents\/worktrees\/./.test(path);

const ours = () =>
  treeOf(workspace.path).filter(
    (entry) => /^(logs|\.agents)\b/.test(entry.path) && !isCheckout(entry)
  );

/** Git never writes an object twice. */
const isObject = ({ path, mode }: Entry) =>
  path.startsWith('before/objects/') && mode === 0o400;

/** Whose mode is not what we promise. */
const astray = (entries: Entry[]) =>
  entries
    .filter((entry) => !isObject(entry))
    .filter(({ kind, mode }) => mode !== (kind === 'directory' ? 0o700 : 0o600))
    .map(({ path, kind, mode }) => `${kind} ${path} ${mode.toString(8)}`);

/** A server that does everything, and the commands that look at it. */
async function everythingUnder(mask: number): Promise<void> {
  server = await under(mask, () =>
    startServer(workspace, { env: { XAI_API_KEY: 'xai-0' } })
  );
  await doEverything(server);
  for (const command of ['list', 'log', 'doctor', 'roles']) {
    const ran = under(mask, () => runCommand(workspace, [command]));
    expect((await ran).stdout).not.toBe('');
  }
  await lookAmidRun(mask);
  const prompt = 'echo x >changed.txt';
  const { agent_id } = await answerOf(server, 'spawn_shell', { prompt });
  await server.call('wait_for_agents', { agent_ids: [agent_id] });
  const clean = ['clean', String(agent_id), '--yes'];
  const cleaned = under(mask, () => runCommand(workspace, clean));
  expect((await cleaned).stdout).toContain(agent_id);
  await server.close();
  expect(server.impurities).toEqual([]);
}

/**
 * While an agent works, git's first look at the files is kept. Where that took
 * too long, the server takes no other for a while, and another server does.
 */
async function lookAmidRun(mask: number): Promise<void> {
  await until(
    'a snapshot in time',
    async () => {
      const server = await under(mask, () => startServer(workspace));
      const prompt = 'sleep 60';
      const { agent_id } = await answerOf(server, 'spawn_shell', { prompt });
      const folder = join(workspace.record, 'spawns', String(agent_id));
      await until('the agent', () => existsSync(join(folder, 'claim')));
      const entries = treeOf(folder);
      await answerOf(server, 'cancel_agent', { agent_id });
      await server.call('wait_for_agents', { agent_ids: [agent_id] });
      await server.close();
      expect(astray(entries)).toEqual([]);
      return entries.some(({ path }) => path === 'before/troupe.json');
    },
    100_000
  );
}

test('whatever the mask allows, all that we write is for us alone', async () => {
  workspace = createGitWorkspace();
  configureEverything(workspace);
  await everythingUnder(0o000);

  const entries = ours();
  expect(astray(entries)).toEqual([]);
  expect(entries.filter(({ kind }) => !/file|directory/.test(kind))).toEqual(
    []
  );
  // Every place that is guarded has been used, and no other.
  const below = (path: string, of: Entry[]) =>
    of
      .filter(({ kind }) => kind === 'directory')
      .map((entry) => entry.path)
      .filter(
        (name) => name.startsWith(path) && depthOf(name) === depthOf(path)
      )
      .map((name) => name.slice(path.length))
      .sort();
  expect(below('.agents/', entries)).toEqual([
    'agents',
    'council',
    'run',
    'worktrees'
  ]);
  expect(below('logs/', entries)).toEqual(['agents', 'archive']);
  // That of the token over HTTP has a test of its own, as rotation has.
  const record = treeOf(workspace.record);
  const used = recordFolders.filter((name) => name !== 'http');
  const folders = below('', record).filter((name) => name !== '.');
  expect(folders).toEqual([...used].sort());
  expect(astray(record)).toEqual([]);
  for (const path of ['.agents/.gitignore', 'logs/.gitignore'])
    expect(existsSync(join(workspace.path, path))).toBe(true);
  const home = treeOf(workspace.home);
  expect(home.filter(({ path }) => !/^(\.|\.troupe.*)$/.test(path))).toEqual(
    []
  );
  expect(astray(home.filter(({ path }) => path !== '.'))).toEqual([]);
});

test('what was there before keeps its mode, and is not ignored', async () => {
  workspace = createGitWorkspace();
  configureEverything(workspace);
  const theirs: [path: string, mode: number][] = [
    ['logs', 0o755],
    ['logs/build.log', 0o644],
    ['.agents', 0o775],
    ['.agents/skills', 0o755],
    ['.agents/agents', 0o750]
  ];
  for (const [path, mode] of theirs) {
    const place = join(workspace.path, path);
    if (path.includes('.log')) writeFileSync(place, 'theirs\n');
    else mkdirSync(place);
    chmodSync(place, mode);
  }
  await everythingUnder(0o077);

  const entries = ours();
  const modes = new Map(entries.map(({ path, mode }) => [path, mode]));
  for (const [path, mode] of theirs) expect(modes.get(path), path).toBe(mode);
  const known = new Set(theirs.map(([path]) => path));
  expect(astray(entries.filter(({ path }) => !known.has(path)))).toEqual([]);
  for (const path of ['.agents/.gitignore', 'logs/.gitignore'])
    expect(existsSync(join(workspace.path, path))).toBe(false);
});

function depthOf(path: string): number {
  return path.split('/').length;
}
