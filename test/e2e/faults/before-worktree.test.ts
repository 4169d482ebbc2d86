import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
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

/** Starts an isolated agent. Its worktree takes this many seconds to create. */
async function spawn(seconds: number): Promise<string> {
  workspace.write('.gitattributes', '*.slow filter=slow\n');
  workspace.write('a.slow', 'x\n');
  workspace.commit('a file that is slow to check out');
  const config = join(workspace.home, '.gitconfig');
  const filter = ['filter.slow.smudge', `sleep ${seconds}; cat`];
  gitIn(workspace.path, 'config', '-f', config, ...filter);
  server = await startServer(workspace);
  const prompt = 'echo made >made.txt; echo ok';
  const input = { prompt, isolate: 'worktree' };
  const { data } = await server.call('spawn_shell', input);
  expect(data).toMatchObject({ status: 'queued' });
  const id = String(data.agent_id);
  const { data: listed } = await server.call('list');
  expect(listed).toMatchObject({ running: [], queued: [{ id }] });
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

test('a client that leaves does not cost an isolated agent its start', async () => {
  const id = await spawn(1.5);
  await server.close();
  server = await startServer(workspace);
  const result = await resultOf(id);
  expect(result).toMatchObject({
    status: 'completed',
    files_changed: [{ path: 'made.txt' }]
  });
});

test('an agent whose worktree takes too long for a leaving client never started', async () => {
  const id = await spawn(6);
  await server.close();
  server = await startServer(workspace);
  expect(await resultOf(id)).toMatchObject({
    status: 'interrupted',
    error:
      "Never started: its server's client left before that. Spawn it again."
  });
  expect(left()).toEqual([]);
});

test('a server killed while it creates a worktree leaves nothing', async () => {
  const id = await spawn(2);
  await until('git has begun', () => left().length === 2);
  server.child.kill('SIGKILL');
  await server.exited;
  server = await startServer(workspace);
  expect(await resultOf(id)).toMatchObject({
    status: 'interrupted',
    error: expect.stringMatching(/^Never started: /)
  });
  await until('the worktree is removed', () => left().length === 0);
});
