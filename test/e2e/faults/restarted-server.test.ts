import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { hasExited } from '../../../src/core/runs/run-files.ts';
import { until } from '../../kit/judges/until.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let server: McpClient;

const views = ['CONTEXT.md', 'IAC.md'];

/** Answers, waits for its gate, and may leave a child that resists. */
const program = `
read -r gate child
echo answer
while [ ! -e "$gate" ]; do sleep 0.05; done
[ "$child" = child ] || exit 0
(trap '' TERM; exec sleep 60) >/dev/null 2>&1 &
`;

beforeEach(async () => {
  workspace = createTempWorkspace();
  const script = JSON.stringify(workspace.write('gated.sh', program));
  workspace.write(
    'gated.mjs',
    `export default { kind: 'cli', name: 'gated', description: 'For tests.',
      command: '/bin/sh', args: () => [${script}] };`
  );
  workspace.write('troupe.config.json', '{"plugins": ["./gated.mjs"]}');
  server = await startServer(workspace);
});

afterEach(async () => {
  await server.close();
  expect(server.impurities).toEqual([]);
  workspace.remove();
});

/** Agents that end after their server was killed and before the next one starts. */
async function endedAlone(count: number, leaving = ''): Promise<string[]> {
  const gate = join(workspace.path, 'gate');
  const spawned = await Promise.all(
    Array.from({ length: count }, () =>
      server.call('spawn_gated', { prompt: `${gate} ${leaving}\n` })
    )
  );
  const ids = spawned.map(({ data }) => String(data.agent_id)).toSorted();
  await until('the views have them at work', () =>
    views.every((name) => ids.every((id) => activeIn(name).includes(id)))
  );
  server.child.kill('SIGKILL');
  await server.exited;
  workspace.write('gate', '');
  await until('all have exited', () =>
    ids.every((id) => hasExited(folderOf(id)))
  );
  expect(ids.filter(hasOutcome)).toEqual([]);
  return ids;
}

function folderOf(id: string): string {
  return join(workspace.record, 'spawns', id);
}

function hasOutcome(id: string): boolean {
  return existsSync(join(folderOf(id), 'outcome.json'));
}

function sorted(ids: unknown): string[] {
  return (ids as string[]).toSorted();
}

test('a new server never lists agents as running that ended without one', async () => {
  const ids = await endedAlone(8);
  server = await startServer(workspace);
  const { data } = await server.call('list', { limit: 10 });
  expect(data).toMatchObject({ running: [], queued: [] });
  expect(sorted(data.completed_ids)).toEqual(ids);
});

test('a wait for all at its start returns the answers of five ended agents', async () => {
  const ids = await endedAlone(7);
  server = await startServer(workspace);
  const { data } = await server.call('wait_for_agents', {});
  expect(data.status).toBe('no_agents_running');
  const results = data.recent_results as Record<string, unknown>[];
  const given = new Set(results.map(({ agent_id }) => String(agent_id)));
  expect(given.size).toBe(5);
  expect(ids).toEqual(expect.arrayContaining([...given]));
  for (const one of results) expect(one.status).toBe('completed');
});

test('an agent that ended is not running while what it left is being ended', async () => {
  const ids = await endedAlone(1, 'child');
  const [id = ''] = ids;
  server = await startServer(workspace);
  const { data } = await server.call('list');
  expect(data).toMatchObject({ running: [], queued: [], completed_ids: ids });
  await until('no view has it at work', () =>
    views.every((name) => activeIn(name).includes('No active agents'))
  );
  const result = await server.call('result', { agent_id: id });
  expect(result.data.status).toBe('completed');
});

/** The table of running agents. */
function activeIn(name: string): string {
  const path = join(workspace.path, 'logs', name);
  const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
  const [, below = ''] = text.split('## Active Agents');
  return below.split('\n\n')[1] ?? '';
}
