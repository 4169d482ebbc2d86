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
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let agents: SquadAgents;
let servers: McpClient[];

beforeEach(() => {
  workspace = createTempWorkspace();
  agents = squadAgents(workspace);
  workspace.write('agents/tester.md', 'You test.');
  servers = [];
});

afterEach(async () => {
  for (const server of servers) {
    await server.close();
    expect(server.impurities).toEqual([]);
    expect(server.stderr).toBe('');
  }
  workspace.remove();
});

async function start(env: Record<string, string> = {}): Promise<McpClient> {
  const server = await startServer(workspace, {
    env: { STATE_MODE: 'stateful', ...env }
  });
  servers.push(server);
  return server;
}

const uuid = /^[0-9a-f]{8}-[0-9a-f-]{27}$/;
const footer = '\n\n---\n\n# Setup & Reporting Rules\n\nIf you notice';
const first = (task: string) =>
  `# Role\n\nYou test.\n\n---\n\n# Initial Task\n\n${task}${footer}`;
const later = (task: string) => `# Task\n\n${task}${footer}`;

function member(task: string, chatId?: string | null) {
  return {
    roleId: 'tester',
    task,
    ...(chatId === undefined ? {} : { chatId })
  };
}

describe.each([
  ['claude', (id: string) => [`--resume=${id}`]],
  ['codex', (id: string) => ['resume', '--', id, '-']]
])('a chat of %s', (ENGINE, resumed) => {
  test('begins with the role, and goes on with the task alone', async () => {
    const server = await start({ ENGINE });
    const { chatId } = await startMember(server, member('Begin.'));
    expect(chatId).toMatch(uuid);
    const begun = await agents.call('Begin.');
    expect(begun.name).toBe(ENGINE);
    expect(begun.stdin.startsWith(first('Begin.'))).toBe(true);
    expect(begun.argv.join(' ')).not.toContain('resume');

    const again = await startMember(server, member('Go on.', chatId));
    expect(again).toMatchObject({ status: 'completed', chatId });
    const { agentId: agent_id } = again;
    const { data } = await server.call('result', { agent_id });
    expect(data).toMatchObject({ chatId, roleId: again.roleId });
    const gone = await agents.call('Go on.');
    expect(gone.stdin.startsWith(later('Go on.'))).toBe(true);
    expect(gone.argv.slice(-resumed('').length)).toEqual(
      resumed(String(chatId))
    );
  });

  test('is returned with a warning when its first turn fails', async () => {
    const server = await start({ ENGINE });
    const bad = await startMember(server, member('Bad. [[exit 4]]'));
    expect(bad).toMatchObject({ status: 'error', chatId: expect.any(String) });
    expect(bad.message).toContain('may not know its role');
    const { chatId } = bad;
    const good = await startMember(server, member('Good.', chatId));
    expect(good).toMatchObject({ status: 'completed', chatId });
    expect(good).not.toHaveProperty('message');
  });

  test('keeps its id when a turn fails, and can go on', async () => {
    const server = await start({ ENGINE });
    const { chatId } = await startMember(server, member('Begin.'));
    const bad = await startMember(server, member('Bad. [[exit 4]]', chatId));
    expect(bad).toMatchObject({ status: 'error', chatId });
    expect(bad).not.toHaveProperty('message');
    const { env } = (await agents.call('Begin.')) ?? {};
    expect(env?.TROUPE_AGENT_ID).toBeDefined();
    const good = await startMember(server, member('Good.', chatId));
    expect(good).toMatchObject({ status: 'completed', chatId });
  });
});

test('no chatId, null and "" are new chats', async () => {
  const server = await start();
  const { members } = await startSquad(server, [
    member('One.'),
    member('Two.', null),
    member('Three.', '')
  ]);
  const ids = members.map(({ chatId }) => chatId);
  for (const id of ids) expect(id).toMatch(uuid);
  expect(new Set(ids).size).toBe(3);
  for (const task of ['One.', 'Two.', 'Three.'])
    expect((await agents.call(task)).stdin.startsWith(first(task))).toBe(true);
});

test('the schema takes a chatId of null, as the tool does', async () => {
  const server = await start();
  const { tools } = await server.request('tools/list');
  const chatId = { type: ['string', 'null'], description: expect.any(String) };
  const tool = {
    name: 'start_squad_members',
    inputSchema: {
      properties: { members: { items: { properties: { chatId } } } }
    }
  };
  if (!Array.isArray(tools)) throw new Error('no tools');
  expect(tools.find(({ name }) => name === tool.name)).toMatchObject(tool);
});

test('an id that no agent of ours has made goes to the engine as it is', async () => {
  const server = await start();
  const chatId = `A.z:9_-${'x'.repeat(249)}`;
  const answer = await startMember(server, member('Foreign.', chatId));
  expect(answer).toMatchObject({ status: 'completed', chatId });
  const { argv } = await agents.call('Foreign.');
  expect(argv.at(-1)).toBe(`--resume=${chatId}`);
});

describe('of two members on one chat the second waits for the first,', () => {
  /** One that runs on a chat of its own until its gate is opened. */
  async function holding(server: McpClient, chatId: string): Promise<string> {
    const answer = await server.call('start_squad_members', {
      members: [member('Hold. [[gate hold]]', chatId)],
      background: true
    });
    const squad = squadIn(answer);
    expect(squad.members).toMatchObject([{ status: 'running', chatId }]);
    await agents.call('Hold.');
    return squad.squadId;
  }

  async function expectInTurn(...tasks: string[]) {
    const calls = await Promise.all(tasks.map((task) => agents.call(task)));
    for (const [index, call] of calls.slice(1).entries())
      expect(call.began).toBeGreaterThan(calls[index]?.ended ?? Infinity);
  }

  test('in one squad, while the rest pass', async () => {
    const server = await start();
    const answering = startSquad(server, [
      member('First. [[gate hold]]', 'shared'),
      member('Second.', 'shared'),
      member('Other.', 'other'),
      member('Third.', 'shared')
    ]);
    await until('the other', async () => (await agents.call('Other.')).ended);
    expect(agents.calls()).toHaveLength(2);
    agents.open('hold');
    const { members } = await answering;
    expect(members.map(({ status, chatId }) => [status, chatId])).toEqual([
      ['completed', 'shared'],
      ['completed', 'shared'],
      ['completed', 'other'],
      ['completed', 'shared']
    ]);
    await expectInTurn('First.', 'Second.', 'Third.');
  });

  test.each([
    ['this server', async (server: McpClient) => server],
    ['another server', () => start()]
  ])('when the first was started before by %s', async (_, next) => {
    const server = await start();
    const squadId = await holding(server, 'shared');
    const other = await next(server);
    const { members } = squadIn(
      await other.call('start_squad_members', {
        members: [member('After.', 'shared'), member('Free.', 'other')],
        background: true
      })
    );
    expect(members).toMatchObject([
      { status: 'queued', chatId: 'shared' },
      { chatId: 'other' }
    ]);
    await until('the free one', async () => (await agents.call('Free.')).ended);
    agents.open('hold');
    await waitForSquad(other, squadId);
    const [after] = members;
    await other.call('wait_for_agents', { agent_ids: [after?.agentId] });
    await expectInTurn('Hold.', 'After.');
  });

  test('when the first is canceled', async () => {
    const server = await start();
    await holding(server, 'shared');
    const { env } = await agents.call('Hold.');
    const answering = startMember(server, member('After.', 'shared'));
    await server.call('cancel_agent', { agent_id: env.TROUPE_AGENT_ID });
    expect(await answering).toMatchObject({ status: 'completed' });
  });

  test('when the first is continued by hand', async () => {
    const server = await start();
    const begun = await startMember(server, member('Begin.'));
    await server.call('continue_agent', {
      agent_id: begun.agentId,
      prompt: 'By hand. [[gate hand]]'
    });
    const answering = startMember(server, member('After.', begun.chatId));
    await agents.call('By hand.');
    expect(agents.calls()).toHaveLength(2);
    agents.open('hand');
    expect(await answering).toMatchObject({
      status: 'completed',
      chatId: begun.chatId
    });
    await expectInTurn('By hand.', 'After.');
  });
});
