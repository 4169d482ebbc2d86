import { afterEach, beforeEach, expect, test } from 'vitest';
import { cursorAgentProgram } from '../../kit/agents/cursor-agent-program.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import { startMember, startSquad } from '../../kit/servers/squad-call.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let program: ReturnType<typeof cursorAgentProgram>;
let server: McpClient;

beforeEach(() => {
  workspace = createTempWorkspace();
  program = cursorAgentProgram(workspace);
  workspace.write('agents/tester.md', 'You test.');
});

afterEach(async () => {
  expect(server.impurities).toEqual([]);
  expect(server.stderr).toBe('');
  await server.close();
  workspace.remove();
});

async function start(env: Record<string, string> = {}): Promise<void> {
  const settings = { STATE_MODE: 'stateful', ENGINE: 'cursor-agent' };
  server = await startServer(workspace, { env: { ...settings, ...env } });
}

const member = (task: string, chatId?: string | null) => ({
  roleId: 'tester',
  task,
  ...(chatId ? { chatId } : {})
});

test('Cursor remembers in its own chat what its role is', async () => {
  await start({ CURSOR_API_KEY: 'key' });
  const first = await startMember(server, member('say: hello'));
  expect(first).toMatchObject({ status: 'completed', result: 'hello' });
  expect(first.chatId).toMatch(/^[0-9a-f-]{36}$/);
  expect(program.seen().argv).toContain(`--resume=${first.chatId}`);

  const second = await startMember(server, member('recall', first.chatId));
  expect(second.chatId).toBe(first.chatId);
  // The first prompt, as the chat has it: the second does not repeat it.
  expect(second.result).toContain('# Role\n\nYou test.\n\n---\n\n# Initial');
  expect(program.seen().prompt).toMatch(/^# Task\n\nrecall\n\n---/);
  expect(program.seen().prompt).not.toContain('You test.');
});

test('without a login there is no chat, only the message of Cursor', async () => {
  await start();
  const { members } = await startSquad(server, [
    member('say: one'),
    member('say: two')
  ]);
  for (const { status, chatId, error } of members) {
    expect([status, chatId]).toEqual(['error', null]);
    expect(error).toContain('the chat could not be made');
    expect(error).toContain("run 'agent login' first");
  }
});

test('a chat that Cursor does not know is reported in its words', async () => {
  await start({ CURSOR_API_KEY: 'key' });
  const gone = await startMember(server, member('say: x', 'no-such-chat'));
  expect(gone).toMatchObject({ status: 'error', chatId: 'no-such-chat' });
  expect(gone.rawStderr).toBe('Error: no chat with the id no-such-chat\n');
});
