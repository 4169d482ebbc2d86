import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type SquadAgents,
  squadAgents
} from '../../kit/agents/squad-agents.ts';
import { until } from '../../kit/judges/until.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  type SquadAnswer,
  startMember,
  startSquad
} from '../../kit/servers/squad-call.ts';
import { agentsAlive } from '../../kit/workspaces/step-workspace.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let agents: SquadAgents;
let server: McpClient;

beforeEach(() => {
  workspace = createTempWorkspace();
  agents = squadAgents(workspace);
  workspace.write('agents/tester.md', 'You test.');
  workspace.write('agents/absent.md', '---\nengine: gemini-cli\n---\nNobody.');
});

afterEach(async () => {
  await server.close();
  expect(server.impurities).toEqual([]);
  await until('their ends', () => agentsAlive(workspace).length === 0);
  workspace.remove();
});

const one = { roleId: 'tester', task: 'One. [[gate one]]' };
const two = { roleId: 'tester', task: 'Two.' };
const three = { roleId: 'tester', task: 'Three.' };
const background = { background: true };

function idOf({ members }: SquadAnswer, index: number): string {
  return members[index]?.agentId ?? '';
}

/** An agent of no line comes and goes meanwhile, so Three could have begun. */
async function expectInLine(squad: SquadAnswer, task = 'Three.') {
  const beside = await server.call('spawn_claude', { prompt: 'Beside.' });
  const agent_ids = [beside.data.agent_id];
  await server.call('wait_for_agents', { agent_ids });
  const isCalled = agents.calls().some(({ stdin }) => stdin.includes(task));
  expect(isCalled).toBe(false);
  agents.open('one');
  const { squadId } = squad;
  await server.call('wait_for_agents', { squadId });
  const [first, last] = [await agents.call('One.'), await agents.call(task)];
  expect(last.began).toBeGreaterThan(first.ended ?? Number.POSITIVE_INFINITY);
}

describe('a member that ends in line lets no member pass the ones before it', () => {
  beforeEach(async () => {
    const env = { EXECUTION_MODE: 'sequential', SEQUENTIAL_DELAY_MS: '0' };
    server = await startServer(workspace, { env });
  });

  test('when it could not start', async () => {
    const members = [one, { roleId: 'absent', task: 'Two.' }, three];
    const squad = await startSquad(server, members, background);
    await agents.call('One.');
    await expectInLine(squad);
  });

  test('when it is canceled', async () => {
    const squad = await startSquad(server, [one, two, three], background);
    await agents.call('One.');
    const agent_id = idOf(squad, 1);
    expect(
      (await server.call('cancel_agent', { agent_id })).data
    ).toMatchObject({ status: 'canceled' });
    await expectInLine(squad);
  });
});

describe('a chat has one turn at a time', () => {
  const env = { STATE_MODE: 'stateful' };
  let chatId: string;
  let first: string;

  beforeEach(async () => {
    server = await startServer(workspace, { env });
    const begun = await startMember(server, {
      roleId: 'tester',
      task: 'Zero.'
    });
    chatId = begun.chatId ?? '';
    first = begun.agentId;
  });

  test('also for continue_agent, when one in line was canceled', async () => {
    const line = [one, two].map((member) => ({ ...member, chatId }));
    const squad = await startSquad(server, line, background);
    await agents.call('One.');
    const again = () =>
      server.call('continue_agent', { agent_id: first, prompt: 'Again.' });
    expect((await again()).data).toMatchObject({ error_code: 'session_busy' });
    await server.call('cancel_agent', { agent_id: idOf(squad, 1) });
    expect((await again()).data).toMatchObject({ error_code: 'session_busy' });
    agents.open('one');
    await server.call('wait_for_agents', { squadId: squad.squadId });
    expect((await again()).data).toMatchObject({ status: 'running' });
  });

  test('also for the next server, when the members in line ended with theirs', async () => {
    const line = [one, two].map((member) => ({ ...member, chatId }));
    const before = await startSquad(server, line, background);
    await agents.call('One.');
    await server.close();
    server = await startServer(workspace, { env });
    const members = [{ ...three, chatId }];
    const squad = await startSquad(server, members, background);
    const { data } = await server.call('result', { agent_id: idOf(before, 1) });
    expect(data).toMatchObject({ status: 'interrupted' });
    await expectInLine(squad);
  });
});

test('a member in line is reported as in line, not as without a slot', async () => {
  const env = { EXECUTION_MODE: 'sequential' };
  server = await startServer(workspace, { env });
  const squad = await startSquad(server, [one, two], background);
  const { data } = await server.call('result', { agent_id: idOf(squad, 1) });
  expect(data.message).toMatch(/^Waiting for its turn or a free slot/);
  agents.open('one');
  await server.call('wait_for_agents', { squadId: squad.squadId });
});
