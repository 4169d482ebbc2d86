import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../../kit/judges/until.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  createGitWorkspace,
  type GitWorkspace
} from '../../kit/workspaces/git-workspace.ts';

const count = 40;
const options = { env: { TROUPE_MAX_CONCURRENT: '100' } };

let workspace: GitWorkspace;
let server: McpClient;

beforeEach(async () => {
  workspace = createGitWorkspace();
  // Without a repository, starts are not delayed by git.
  rmSync(join(workspace.path, '.git'), { recursive: true });
  server = await startServer(workspace, options);
});

afterEach(async () => {
  expect(server.impurities).toEqual([]);
  expect(server.stderr).toBe('');
  await server.close();
  workspace.remove();
});

/** Spawns many agents at once; all are answered before they all have started. */
async function spawnMany(): Promise<string[]> {
  const spawned = await Promise.all(
    Array.from({ length: count }, (_, n) =>
      server.call('spawn_shell', {
        prompt: `echo ${n} >>began.${n}; sleep 2; echo ok`
      })
    )
  );
  expect(spawned.map(({ data }) => data.status)).toEqual(
    Array(count).fill('running')
  );
  return spawned.map(({ data }) => String(data.agent_id));
}

function hasBegun(n: number): boolean {
  return existsSync(join(workspace.path, `began.${n}`));
}

function haveAllBegun(): boolean {
  return Array.from({ length: count }, (_, n) => hasBegun(n)).every(Boolean);
}

/** Fails unless each agent ran once and completed. */
async function expectAllCompleted(ids: string[]): Promise<void> {
  await server.call('wait_for_agents', { agent_ids: ids, timeout: 60 });
  for (const [n, agent_id] of ids.entries()) {
    const { data } = await server.call('result', { agent_id });
    expect(data).toMatchObject({ status: 'completed', result: 'ok' });
    expect(readFileSync(join(workspace.path, `began.${n}`), 'utf8')).toBe(
      `${n}\n`
    );
  }
}

test('the next server starts what a killed one had answered and not started', async () => {
  const ids = await spawnMany();
  server.child.kill('SIGKILL');
  await server.exited;
  server = await startServer(workspace, options);
  await expectAllCompleted(ids);
});

test('a server whose client leaves starts all that it has answered', async () => {
  const ids = await spawnMany();
  await server.close();
  await until('the start of all', haveAllBegun);
  server = await startServer(workspace, options);
  await expectAllCompleted(ids);
});
