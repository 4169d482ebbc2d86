import { afterAll, beforeAll, expect, test } from 'vitest';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let server: McpClient;

beforeAll(async () => {
  workspace = createTempWorkspace();
  server = await startServer(workspace, {
    flags: ['--engines', 'rehearsal'],
    env: { TROUPE_MAX_CONCURRENT: '1' }
  });
});

afterAll(async () => {
  await server.close();
  workspace.remove();
});

test('a list is answered while a hundred agents are being started', async () => {
  let started = 0;
  const spawns = Array.from({ length: 100 }, async () => {
    const { data } = await server.call('spawn_rehearsal', { prompt: 'hang' });
    started += 1;
    return data.agent_id;
  });
  const list = await server.call('list');
  expect(list.isError).toBe(false);
  expect(started).toBeLessThan(spawns.length);
  const ids = await Promise.all(spawns);
  expect(new Set(ids).size).toBe(spawns.length);
  // The last ones first, or each would start as its predecessor ends.
  for (const agent_id of ids.reverse())
    await server.call('cancel_agent', { agent_id });
});
