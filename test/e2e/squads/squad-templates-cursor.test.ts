import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  type CursorCall,
  cursorAgentProgram
} from '../../kit/agents/cursor-agent-program.ts';
import { squadProgram } from '../../kit/agents/squad-program.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import { startMember, startSquad } from '../../kit/servers/squad-call.ts';
import { surroundings } from '../../kit/workspaces/surroundings.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

const run = 'templates/run-cursor-agent.template';
const createChat = 'templates/create-chat-cursor-agent.template';
const uuid = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/;
const common = ['-p', '--output-format=text', '--trust'];

let workspace: TempWorkspace;
let server: McpClient | undefined;
let seen: () => CursorCall;

beforeEach(() => {
  workspace = createTempWorkspace();
  workspace.write('agents/tester.md', 'Test it.');
  seen = cursorAgentProgram(workspace).seen;
});

afterEach(async () => {
  await server?.close();
  expect(server?.impurities ?? []).toEqual([]);
  server = undefined;
  workspace.remove();
});

async function start(env: Record<string, string> = {}) {
  const given = { ...surroundings, RUN_TEMPLATE_PATH: run, ...env };
  server = await startServer(workspace, { env: given });
  return server;
}

const ask = (task: string, roleId = 'tester') => ({ roleId, task });

test('the template for Cursor lets it work and answer, with its own key', async () => {
  const client = await start();
  const one = await startMember(client, ask('shell: npm test'));
  expect(one).toMatchObject({
    status: 'completed',
    rawStdout: 'Let me do it.It is done.\n',
    result: 'Let me do it.It is done.'
  });
  const { argv, env, prompt } = seen();
  expect(argv).toEqual([...common, '--force']);
  expect(prompt).toMatch(/^# Role\n\nTest it\.\n\n---\n\n# Task\n\nshell: npm/);
  expect(Object.keys(env)).toContain('CURSOR_API_KEY');
  expect(Object.keys(env)).not.toContain('ANTHROPIC_API_KEY');
});

test.each([
  ['read', '', ['--mode=ask']],
  ['write', 'model: composer-2.5\n', ['--model=composer-2.5']],
  ['full', 'model: composer-2.5\n', ['--model=composer-2.5', '--force']]
])('with access %s', async (access, model, flags) => {
  const head = `---\naccess: ${access}\n${model}---\n`;
  workspace.write('agents/limited.md', `${head}Test it.`);
  const client = await start();
  const one = await startMember(client, ask('say: hi', 'limited'));
  expect(one).toMatchObject({ status: 'completed', result: 'hi' });
  expect(seen().argv).toEqual([...common, ...flags]);
});

test.each([{ CREATE_CHAT_TEMPLATE_PATH: createChat }, {}])(
  'a chat that it makes goes on, with %j',
  async (more) => {
    const client = await start({ STATE_MODE: 'stateful', ...more });
    const first = await startMember(client, ask('say: One.'));
    const { chatId } = first;
    expect(first).toMatchObject({ status: 'completed', result: 'One.' });
    expect(chatId).toMatch(uuid);
    expect(seen().argv.at(-1)).toBe(`--resume=${chatId}`);
    const second = await startMember(client, {
      ...ask('recall'),
      chatId: chatId ?? null
    });
    expect(second).toMatchObject({ status: 'completed', chatId });
    expect(second.result).toMatch(/^# Role\n\nTest it\..*say: One\./s);
    expect(seen().prompt).toMatch(/^# Task\n\nrecall\n/);
  }
);

test('a chat that is not there fails', async () => {
  const client = await start({ STATE_MODE: 'stateful' });
  const asked = { ...ask('say: One.'), chatId: 'c-1' };
  const one = await startMember(client, asked);
  expect(one).toMatchObject({ status: 'error', chatId: 'c-1' });
  expect(one.error).toContain('no chat with the id c-1');
});

test('without a login a chat cannot be made, and the member says why', async () => {
  const client = await start({ STATE_MODE: 'stateful', CURSOR_API_KEY: '' });
  const one = await startMember(client, ask('say: One.'));
  expect(one).toMatchObject({
    status: 'error',
    chatId: null,
    error: expect.stringContaining('Authentication required')
  });
});

test('its members take turns, whatever ENGINE says', async () => {
  const program = squadProgram(workspace, 'cursor-agent');
  const client = await start({ ENGINE: 'mine', SEQUENTIAL_DELAY_MS: '0' });
  const tasks = ['[[sleep 300]]', '[[sleep 50]]', 'Three.'];
  const { members } = await startSquad(
    client,
    tasks.map((task) => ask(task))
  );
  expect(members.map(({ status }) => status)).toEqual(
    tasks.map(() => 'completed')
  );
  const calls = program.calls();
  expect(calls).toHaveLength(3);
  for (const [index, { began, stdin }] of calls.entries()) {
    expect(stdin).toContain(tasks[index]);
    expect(began).toBeGreaterThanOrEqual(calls[index - 1]?.ended ?? 0);
  }
});
