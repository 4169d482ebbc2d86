import { existsSync, readdirSync, readFileSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { processEntry } from '../../../src/adapters/child-process/process-table.ts';
import { until } from '../../kit/judges/until.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  createGitWorkspace,
  type GitWorkspace,
  gitIn
} from '../../kit/workspaces/git-workspace.ts';

let workspace: GitWorkspace;
let server: McpClient;

beforeEach(() => {
  workspace = createGitWorkspace();
});

afterEach(async () => {
  expect(server.impurities).toEqual([]);
  expect(server.stderr).toBe('');
  await server.close();
  workspace.remove();
});

/** Makes git run a script for a file. */
function filter(kind: 'smudge' | 'clean', script: string): void {
  workspace.write('.gitattributes', '*.slow filter=slow\n');
  workspace.write('a.slow', 'x\n');
  workspace.commit('a file with a filter');
  const config = join(workspace.home, '.gitconfig');
  const setting = [`filter.slow.${kind}`, script];
  gitIn(workspace.path, 'config', '-f', config, ...setting);
}

/** Starts an isolated agent. Its worktree takes this many seconds to create. */
async function spawn(seconds: number, flags: string[] = []): Promise<string> {
  filter('smudge', `sleep ${seconds}; cat`);
  return await spawnFiltered(flags);
}

async function spawnFiltered(flags: string[] = []): Promise<string> {
  server = await startServer(workspace, { flags });
  const prompt = 'echo made >made.txt; echo ok';
  const input = { prompt, isolate: 'worktree' };
  const { data } = await server.call('spawn_shell', input);
  const id = String(data.agent_id);
  const status = flags.length === 0 ? 'running' : 'queued';
  expect(data).toMatchObject({ status });
  const { data: listed } = await server.call('list');
  expect(listed[status]).toMatchObject([{ id }]);
  return id;
}

async function resultOf(id: string): Promise<Record<string, unknown>> {
  await server.call('wait_for_agents', { agent_ids: [id], timeout: 60 });
  return (await server.call('result', { agent_id: id })).data;
}

/** Worktrees and branches of agents. */
function left(): string[] {
  const folder = join(workspace.path, '.agents/worktrees');
  const branches = gitIn(workspace.path, 'branch', '--list', 'troupe/*');
  return [
    ...(existsSync(folder) ? readdirSync(folder) : []),
    ...branches.split('\n').filter(Boolean)
  ];
}

const completed = {
  status: 'completed',
  files_changed: [{ path: 'made.txt' }]
};

test.each([
  ['at once', 1.5],
  ['with the next server, where its worktree takes longer', 6]
])('an isolated agent whose client leaves starts %s', async (_, seconds) => {
  const id = await spawn(seconds);
  await server.close();
  server = await startServer(workspace);
  expect(await resultOf(id)).toMatchObject(completed);
});

test('an agent that would end with its client has never started', async () => {
  const id = await spawn(6, ['--on-disconnect', 'stop']);
  await server.close();
  server = await startServer(workspace);
  expect(await resultOf(id)).toMatchObject({
    status: 'interrupted',
    error:
      "Never started: its server's client left before that. Spawn it again."
  });
  expect(left()).toEqual([]);
});

/** Worktrees that git is about to create. */
function begun(): number {
  const entries = join(workspace.path, '.git/worktrees');
  const names = existsSync(entries) ? readdirSync(entries) : [];
  return names.filter((name) => existsSync(join(entries, name, 'locked')))
    .length;
}

async function ended(signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL') {
  await until('git has begun', () => begun() === 1);
  server.child.kill(signal);
  await server.exited;
}

test('two servers start an isolated agent of a killed one once', async () => {
  const id = await spawn(2);
  await ended();
  const [other, next] = await Promise.all([
    startServer(workspace),
    startServer(workspace)
  ]);
  server = next;
  const results = await Promise.all(
    [other, next].map(async (one) => {
      await one.call('wait_for_agents', { agent_ids: [id], timeout: 60 });
      return (await one.call('result', { agent_id: id })).data;
    })
  );
  for (const result of results) expect(result).toMatchObject(completed);
  await other.close();
});

test('an agent that no server takes over within a minute has never started, and leaves nothing', async () => {
  const id = await spawn(2);
  await ended();
  const past = Date.now() / 1000 - 61;
  const mark = join(workspace.record, 'spawns', id, 'starting');
  utimesSync(mark, past, past);
  server = await startServer(workspace);
  expect(await resultOf(id)).toMatchObject({
    status: 'interrupted',
    error: expect.stringMatching(/^Never started: /)
  });
  await until('the worktree is removed', () => left().length === 0);
});

test.each(['SIGKILL', 'SIGTERM'] as const)(
  'a server that took an agent over and gets %s leaves it to the next',
  async (signal) => {
    const id = await spawn(4);
    await ended();
    server = await startServer(workspace);
    await until('it was taken over', () => isHeir(id, 1));
    await until('git of the first server has ended', () => begun() === 0);
    server.child.kill(signal);
    await server.exited;
    server = await startServer(workspace);
    expect(await resultOf(id)).toMatchObject(completed);
  }
);

function isHeir(id: string, number: number): boolean {
  return existsSync(join(workspace.record, 'spawns', id, `heir.${number}`));
}

test('an agent that was canceled before its start leaves nothing, though all servers were killed', async () => {
  const id = await spawn(4);
  await until('git has begun', () => begun() === 1);
  const other = await startServer(workspace);
  // It must not remove the worktree itself before it is killed.
  server.child.kill('SIGSTOP');
  const { data } = await other.call('cancel_agent', { agent_id: id });
  expect(data).toMatchObject({ status: 'canceled' });
  for (const { child, exited } of [server, other]) {
    child.kill('SIGKILL');
    await exited;
  }
  expect(left()).not.toEqual([]);
  server = await startServer(workspace);
  await until('the worktree is removed', () => left().length === 0, 30_000);
  const mark = join(workspace.record, 'open', id);
  await until('its end is complete', () => !existsSync(mark));
});

test('an agent that no server may start is queued, and interrupted after a minute', async () => {
  const id = await spawn(2);
  await ended();
  server = await startServer(workspace, { flags: ['--max-access', 'read'] });
  const { data } = await server.call('result', { agent_id: id });
  expect(data).toMatchObject({ status: 'queued' });
  const past = Date.now() / 1000 - 61;
  const mark = join(workspace.record, 'spawns', id, 'starting');
  utimesSync(mark, past, past);
  expect(await resultOf(id)).toMatchObject({
    status: 'interrupted',
    error: expect.stringContaining('that has its engine and access')
  });
  await until('the worktree is removed', () => left().length === 0);
});

test('a git of a killed server that hangs is ended, so that it takes no work with it', async () => {
  const pidFile = join(workspace.home, 'pid');
  filter(
    'smudge',
    `test -e ${pidFile} || { echo $$ >${pidFile}; sleep 60; }; cat`
  );
  const id = await spawnFiltered();
  await until('the filter hangs', () => existsSync(pidFile));
  await ended();
  server = await startServer(workspace);
  expect(await resultOf(id)).toMatchObject(completed);
  const pid = Number(readFileSync(pidFile, 'utf8'));
  expect(processEntry(pid)?.zombie ?? true).toBe(true);
  expect(left()).toHaveLength(2);
});

test('an unused worktree is removed, though git is slow to see that', async () => {
  filter('clean', 'sleep 2.5; cat');
  server = await startServer(workspace);
  const input = { prompt: 'echo ok', isolate: 'worktree' };
  const { data } = await server.call('spawn_shell', input);
  expect(await resultOf(String(data.agent_id))).toMatchObject({
    status: 'completed'
  });
  await until('it is removed', () => left().length === 0);
});
