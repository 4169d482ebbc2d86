import { afterEach, beforeEach, expect, test } from 'vitest';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let server: McpClient;

beforeEach(async () => {
  workspace = createTempWorkspace();
  workspace.write('troupe.config.json', '{"engines": {"rehearsal": true}}');
  server = await startServer(workspace, {
    env: { PATH: `${workspace.bin}:/usr/bin:/bin` }
  });
});

afterEach(async () => {
  await server.close();
  workspace.remove();
});

test('a request that could not start says so again when it is repeated', async () => {
  const input = { prompt: 'x', request_id: 'rid' };
  const { data: first } = await server.call('spawn_claude', input);
  expect(first).toMatchObject({
    status: 'failed',
    error_code: 'not_installed'
  });
  const { message: _, ...facts } = first;
  const { data: second } = await server.call('spawn_claude', input);
  expect(second).toMatchObject(facts);
  expect(second.message).toContain('which could not start');
  expect(second.message).toContain('another request_id');
  expect(second.message).not.toContain('wait_for_agents');
});

test('a request whose agent has ended points to its result when it is repeated', async () => {
  const ask = (prompt: string, request_id: string) =>
    server.call('spawn_rehearsal', { prompt, request_id });
  const prompts = { well: 'say done', badly: 'fail auth no entry' };
  for (const [id, prompt] of Object.entries(prompts)) {
    const { data } = await ask(prompt, id);
    await server.call('wait_for_agents', { agent_ids: [data.agent_id] });
  }
  const { data: well } = await ask(prompts.well, 'well');
  expect(well.status).toBe('completed');
  expect(well).not.toHaveProperty('error_code');
  expect(well.message).toContain(`result {"agent_id":"${well.agent_id}"}`);
  const { data: badly } = await ask(prompts.badly, 'badly');
  expect(badly).toMatchObject({ status: 'failed', error_code: 'auth' });
  expect(badly.error).toContain('no entry');
  expect(badly.message).toContain(`result {"agent_id":"${badly.agent_id}"}`);
  expect(badly.message).not.toContain('no entry');
});
