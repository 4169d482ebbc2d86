import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import { startMember, startSquad } from '../../kit/servers/squad-call.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let server: McpClient;

beforeEach(async () => {
  workspace = createTempWorkspace();
  workspace.write('agents/tester.md', 'You test.');
  const env = { ENGINE: 'rehearsal', STATE_MODE: 'stateful' };
  server = await startServer(workspace, { env });
});

afterEach(async () => {
  await server.close();
  expect(server.impurities).toEqual([]);
  expect(server.stderr).toBe('');
  workspace.remove();
});

test('a rehearsed chat goes on, and says which turn it is', async () => {
  const { chatId = null } = await startMember(server, {
    roleId: 'tester',
    task: 'say One.'
  });
  const again = { roleId: 'tester', task: 'say Two.', chatId };
  const { status, result, ...rest } = await startMember(server, again);
  expect([status, rest.chatId]).toEqual(['completed', chatId]);
  expect(result).toContain('(turn 2 of this session)');
});

test.each(['0badc0de', 'no-such-chat', '..'])(
  'an unknown rehearsed chat, "%s", is reported, and nothing is written for it',
  async (chatId) => {
    const asked = { roleId: 'tester', task: 'say Hello.', chatId };
    expect(await startMember(server, asked)).toMatchObject({
      status: 'error',
      error_code: 'spawn_failed',
      error: `There is no session "${chatId}" in this workspace.`,
      rawStderr: '',
      result: ''
    });
    const turns = join('spawns', chatId, 'turns.jsonl');
    expect(existsSync(join(workspace.record, turns))).toBe(false);
  }
);

test('a rehearsed chat whose first turn is at work is waited for', async () => {
  const tester = (task: string) => ({ roleId: 'tester', task });
  const first = [tester('sleep 2\nsay One.')];
  const squad = await startSquad(server, first, { background: true });
  const [begun] = squad.members;
  const chatId = begun?.agentId ?? '';
  const again = await startMember(server, { ...tester('say Two.'), chatId });
  expect(again.status).toBe('completed');
  const { data } = await server.call('result', { agent_id: chatId });
  expect(data).toMatchObject({ status: 'completed' });
  const { data: later } = await server.call('result', {
    agent_id: again.agentId
  });
  expect(Date.parse(String(later.started_at))).toBeGreaterThanOrEqual(
    Date.parse(String(data.completed_at))
  );
});
