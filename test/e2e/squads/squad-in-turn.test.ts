import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type SquadAgents,
  squadAgents
} from '../../kit/agents/squad-agents.ts';
import { until } from '../../kit/judges/until.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  squadIn,
  startSquad,
  waitForSquad
} from '../../kit/servers/squad-call.ts';
import { agentsAlive } from '../../kit/workspaces/step-workspace.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let agents: SquadAgents;
let server: McpClient | undefined;

beforeEach(() => {
  workspace = createTempWorkspace();
  agents = squadAgents(workspace);
  workspace.write('agents/tester.md', 'You test.');
  workspace.write('agents/other.md', '---\nengine: claude\n---\nYou differ.');
});

afterEach(async () => {
  await server?.close();
  expect(server?.impurities).toEqual([]);
  expect(server?.stderr).toBe('');
  await until('their ends', () => agentsAlive(workspace).length === 0);
  workspace.remove();
});

async function start(env: Record<string, string>): Promise<McpClient> {
  server = await startServer(workspace, { env });
  return server;
}

const tester = (task: string) => ({ roleId: 'tester', task });
const other = (task: string) => ({ roleId: 'other', task });
const numbers = ['One.', 'Two.', 'Three.'];

/** Each began after the one before it had ended. */
async function expectInTurn(tasks: string[]) {
  const calls = await Promise.all(tasks.map((task) => agents.call(task)));
  for (const [index, { began }] of calls.slice(1).entries())
    expect(began).toBeGreaterThan(calls[index]?.ended ?? Infinity);
}

describe('cursor-agent members', () => {
  test('run one after another, and the rest in parallel', async () => {
    const client = await start({ ENGINE: 'cursor-agent' });
    const answering = startSquad(client, [
      tester('One. [[gate one]]'),
      other('Beside. [[say beside]]'),
      tester('Two.'),
      tester('Three.')
    ]);
    await until('other', async () => (await agents.call('Beside.')).ended);
    await agents.call('One.');
    expect(agents.calls()).toHaveLength(2);
    agents.open('one');
    const { members } = await answering;
    for (const { status } of members) expect(status).toBe('completed');
    expect(members[1]).toMatchObject({ roleId: 'other', result: 'beside' });
    await expectInTurn(numbers);
  });

  test('run side by side when EXECUTION_MODE says so', async () => {
    const client = await start({
      ENGINE: 'cursor-agent',
      EXECUTION_MODE: 'parallel'
    });
    // They end only when all three have met.
    const { members } = await startSquad(
      client,
      numbers.map((task) => tester(`${task} [[meet 3]]`))
    );
    for (const { status } of members) expect(status).toBe('completed');
  });
});

describe('when EXECUTION_MODE is sequential,', () => {
  const env = { EXECUTION_MODE: 'sequential' };

  test('all run one after another, whatever their engine', async () => {
    const client = await start(env);
    workspace.write('agents/third.md', '---\nengine: codex\n---\nYou differ.');
    const { members } = await startSquad(client, [
      tester('One.'),
      { roleId: 'third', task: 'Two. [[exit 5]]' },
      tester('Three.')
    ]);
    expect(members.map(({ status }) => status)).toEqual([
      'completed',
      'error',
      'completed'
    ]);
    expect(agents.calls().map(({ name }) => name)).toEqual([
      'claude',
      'codex',
      'claude'
    ]);
    await expectInTurn(numbers);
  });

  test('there is a pause of SEQUENTIAL_DELAY_MS between two', async () => {
    const client = await start({ ...env, SEQUENTIAL_DELAY_MS: '1200' });
    const { members } = await startSquad(client, numbers.map(tester));
    const times = await Promise.all(
      members.map(async ({ agentId: agent_id }) => {
        const { data } = await client.call('result', { agent_id });
        return {
          began: Date.parse(String(data.started_at)),
          ended: Date.parse(String(data.completed_at))
        };
      })
    );
    for (const [index, { began }] of times.slice(1).entries())
      expect(began - (times[index]?.ended ?? 0)).toBeGreaterThanOrEqual(1199);
  });

  test('one that cannot start, or is canceled, lets the next one start', async () => {
    const client = await start({ ...env, SEQUENTIAL_DELAY_MS: '0' });
    workspace.write('agents/absent.md', '---\nengine: copilot\n---\nx');
    const answer = await client.call('start_squad_members', {
      members: [
        { roleId: 'absent', task: 'No program.' },
        tester('One. [[hang]]'),
        tester('Canceled.'),
        tester('Three.')
      ],
      background: true
    });
    const { squadId, members } = squadIn(answer);
    const [absent, one, canceled] = members;
    expect(absent).toMatchObject({
      status: 'error',
      error_code: 'not_installed'
    });
    await agents.call('One.');
    for (const member of [canceled, one])
      await client.call('cancel_agent', { agent_id: member?.agentId });
    const results = await waitForSquad(client, squadId);
    expect(results.map(({ status }) => status)).toEqual([
      'failed',
      'canceled',
      'canceled',
      'completed'
    ]);
    expect(agents.calls()).toHaveLength(2);
  });

  test('a client that leaves ends all where onDisconnect says so', async () => {
    const settings = { ...env, TROUPE_ON_DISCONNECT: 'stop' };
    const client = await start(settings);
    const answer = await client.call('start_squad_members', {
      members: [tester('One. [[hang]]'), tester('Two.')],
      background: true
    });
    await agents.call('One.');
    await client.close();
    await until('its end', () => agentsAlive(workspace).length === 0);
    const next = await start(settings);
    expect(await waitForSquad(next, squadIn(answer).squadId)).toMatchObject([
      { status: 'interrupted' },
      { status: 'interrupted' }
    ]);
    expect(agents.calls()).toHaveLength(1);
  });

  test('a server that is killed leaves nothing that would start', async () => {
    const client = await start(env);
    const answer = await client.call('start_squad_members', {
      members: [tester('One. [[gate one]]'), tester('Two.'), tester('Three.')],
      background: true
    });
    const { squadId } = squadIn(answer);
    await agents.call('One.');
    client.child.kill('SIGKILL');
    await client.exited;

    const next = await start(env);
    const { data } = await next.call('wait_for_agents', {
      squadId,
      timeout: 0
    });
    expect(data.completed_results).toMatchObject([
      { status: 'interrupted', error_code: 'interrupted' },
      { status: 'interrupted', error_code: 'interrupted' }
    ]);
    agents.open('one');
    const results = await waitForSquad(next, squadId);
    expect(results.map(({ status }) => status)).toEqual([
      'completed',
      'interrupted',
      'interrupted'
    ]);
    expect(agents.calls()).toHaveLength(1);
  });
});
