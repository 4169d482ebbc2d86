import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type SquadAgents,
  squadAgents
} from '../../kit/agents/squad-agents.ts';
import { until } from '../../kit/judges/until.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  squadIn,
  startMember,
  startSquad,
  waitForSquad
} from '../../kit/servers/squad-call.ts';
import { agentsAlive } from '../../kit/workspaces/step-workspace.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

/** What stands before words that are no id. */
const noId =
  'what its command printed is not a chat id (1 to 256 of A-Z a-z 0-9 . _ : -, and no "-" first): ';

let workspace: TempWorkspace;
let agents: SquadAgents;
let server: McpClient;

beforeEach(async () => {
  workspace = createTempWorkspace();
  agents = squadAgents(workspace);
  workspace.write('agents/tester.md', 'You test.');
  workspace.write('agents/other.md', '---\nengine: claude\n---\nYou differ.');
  server = await start();
});

afterEach(async () => {
  await server.close();
  expect(server.impurities).toEqual([]);
  expect(server.stderr).toBe('');
  await until('their ends', () => agentsAlive(workspace).length === 0);
  workspace.remove();
});

function start(env: Record<string, string> = {}): Promise<McpClient> {
  return startServer(workspace, {
    env: { STATE_MODE: 'stateful', ENGINE: 'cursor-agent', ...env }
  });
}

const tester = (task: string) => ({ roleId: 'tester', task });

function callsOf(what: 'create-chat' | '-p') {
  return agents.calls().filter(({ argv }) => argv[0] === what);
}

test('a chat is made first, and the first turn is in it', async () => {
  agents.chats('[[say chat-1]]');
  const { chatId, status } = await startMember(server, tester('Begin.'));
  expect([status, chatId]).toEqual(['completed', 'chat-1']);
  const [made] = callsOf('create-chat');
  const begun = await agents.call('Begin.');
  expect(made).toMatchObject({ argv: ['create-chat'], cwd: workspace.path });
  expect(made?.ended).toBeLessThan(begun.began);
  expect(begun.argv).toContain('--resume=chat-1');
  expect(begun.stdin).toContain('# Role\n\nYou test.\n\n---\n\n# Initial Task');

  const again = { ...tester('Go on.'), chatId: 'chat-1' };
  expect(await startMember(server, again)).toMatchObject({ chatId: 'chat-1' });
  expect(callsOf('create-chat')).toHaveLength(1);
  expect((await agents.call('Go on.')).argv).toContain('--resume=chat-1');
});

describe('a chat that cannot be made fails its member alone, with the cause:', () => {
  test.each([
    ['[[exit 3]] [[say ]] [[err not today]]', 'exited with code 3: not today'],
    ['[[say ]]', 'its command printed no chat id'],
    ['[[say two words]]', `${noId}two words`],
    ['[[say -rf]]', `${noId}-rf`]
  ])('%s', async (asks, cause) => {
    agents.chats(asks);
    const { members } = await startSquad(server, [
      tester('Never.'),
      { roleId: 'other', task: 'Fine.' }
    ]);
    const [bad, good] = members;
    expect(bad).toMatchObject({
      status: 'error',
      error_code: 'spawn_failed',
      chatId: null,
      result: ''
    });
    expect(bad?.error).toContain('the chat could not be made');
    expect(bad?.error).toContain(cause);
    expect(good).toMatchObject({ status: 'completed', result: 'done' });
    expect(callsOf('-p').map(({ name }) => name)).toEqual(['claude']);
  });
});

describe('while a chat is being made,', () => {
  async function making() {
    agents.chats('[[hang]]');
    const answer = await server.call('start_squad_members', {
      members: [tester('One.'), { roleId: 'other', task: 'Fine.' }],
      background: true
    });
    await until('the chat', () => callsOf('create-chat')[0]);
    return squadIn(answer);
  }

  test('its agent can be canceled, and nothing goes on', async () => {
    const { squadId, members } = await making();
    const [one] = members;
    await server.call('cancel_agent', { agent_id: one?.agentId });
    const results = await waitForSquad(server, squadId);
    expect(results).toMatchObject([
      { status: 'canceled' },
      { status: 'completed' }
    ]);
    await until('its end', () => agentsAlive(workspace).length === 0);
    expect(callsOf('-p').map(({ name }) => name)).toEqual(['claude']);
  });

  test.each([
    ['closed', async () => void (await server.close())],
    [
      'killed',
      async () => {
        server.child.kill('SIGKILL');
        await server.exited;
      }
    ]
  ])('the server can be %s, and the agent never starts', async (_, end) => {
    const { squadId } = await making();
    await end();
    await until('its end', () => agentsAlive(workspace).length === 0);
    server = await start();
    expect(await waitForSquad(server, squadId)).toMatchObject([
      { status: 'interrupted', error_code: 'interrupted' },
      { status: 'completed' }
    ]);
    expect(callsOf('-p').map(({ name }) => name)).toEqual(['claude']);
  });
});

test('in stateless mode no chat is made', async () => {
  await server.close();
  server = await start({ STATE_MODE: 'stateless' });
  const member = await startMember(server, tester('Alone.'));
  expect(member).not.toHaveProperty('chatId');
  expect(agents.calls()).toHaveLength(1);
  expect((await agents.call('Alone.')).argv.join(' ')).not.toContain('resume');
  const chat = join(workspace.record, 'spawns', member.agentId, 'chat');
  expect(existsSync(chat)).toBe(false);
  expect(existsSync(join(workspace.record, 'sessions'))).toBe(false);
});
