import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  type SquadAgents,
  squadAgents
} from '../../kit/agents/squad-agents.ts';
import { until } from '../../kit/judges/until.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  type MemberAnswer,
  squadIn,
  startSquad,
  waitForSquad
} from '../../kit/servers/squad-call.ts';
import { agentsAlive } from '../../kit/workspaces/step-workspace.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

const size = 12;
const env = { TROUPE_MAX_CONCURRENT: String(size) };

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
  await until('their ends', () => agentsAlive(workspace).length === 0);
  workspace.remove();
});

async function start(more: Record<string, string> = {}): Promise<McpClient> {
  const server = await startServer(workspace, { env: { ...env, ...more } });
  servers.push(server);
  return server;
}

/** Twelve that each wait for one thing, and how that ends. */
function members(special: Record<number, string> = {}, usual = '') {
  return Array.from({ length: size }, (_, index) => ({
    roleId: 'tester',
    task: `member ${index + 1}. ${special[index] ?? `[[say answer ${index + 1}]] ${usual}`}`
  }));
}

function all(count = size): Promise<true> {
  return until(
    'all to run',
    () => agents.calls().length === count || undefined
  );
}

test('all run at once, and what happens to some harms no other', async () => {
  const server = await start({ PROCESS_TIMEOUT_MS: '8000' });
  const answering = startSquad(
    server,
    members(
      {
        2: '[[meet 12]] [[err it broke]] [[exit 7]]',
        5: '[[meet 12]] [[hang]]',
        8: '[[meet 12]] [[gate kill]] [[hang]]'
      },
      // No member ends before all have begun.
      '[[meet 12]]'
    )
  );
  await all();
  process.kill((await agents.call('member 9.')).pid, 'SIGKILL');
  const { squadId, members: answers } = await answering;

  const statuses = answers.map(({ status }) => status);
  const expected = Array.from({ length: size }, () => 'completed');
  expected.splice(2, 1, 'error');
  expected.splice(5, 1, 'timeout');
  expected.splice(8, 1, 'error');
  expect(statuses).toEqual(expected);
  for (const [index, answer] of answers.entries())
    await expectFound(server, squadId, index, answer);
  expect(answers[2]).toMatchObject({ rawStderr: 'it broke\n' });
});

async function expectFound(
  server: McpClient,
  squadId: string,
  index: number,
  { agentId, status, result }: MemberAnswer
) {
  const { data } = await server.call('result', { agent_id: agentId });
  expect(data).toMatchObject({
    agent_id: agentId,
    squadId,
    memberId: `${squadId}-m${index + 1}`,
    success: status === 'completed',
    result
  });
  if (status === 'completed') expect(result).toBe(`answer ${index + 1}`);
}

test('a client that gives up finds all of them, there and elsewhere', async () => {
  const [server, other] = [await start(), await start()];
  server.send({
    jsonrpc: '2.0',
    id: 'impatient',
    method: 'tools/call',
    params: {
      name: 'start_squad_members',
      arguments: { members: members({}, '[[gate later]]') },
      _meta: { progressToken: 'token' }
    }
  });
  await all();
  const squadId = await toldInProgress(server);
  server.send({
    jsonrpc: '2.0',
    method: 'notifications/cancelled',
    params: { requestId: 'impatient', reason: 'timeout' }
  });

  for (const one of [server, other]) {
    const { data } = await one.call('list');
    const rows = data.running as Record<string, unknown>[];
    expect(rows.map((row) => row.squadId)).toEqual(
      Array.from({ length: size }, () => squadId)
    );
    const wait = { squadId, timeout: 0 };
    const early = await one.call('wait_for_agents', wait);
    expect(early.data.status).toBe('timeout');
    expect(early.data.still_running).toHaveLength(size);
    expect(early.text).toContain('with the same squadId');
  }
  agents.open('later');
  for (const one of [server, other])
    expectAll(await waitForSquad(one, squadId));
  const answers = server.notifications.filter(({ id }) => id === 'impatient');
  expect(answers).toEqual([]);
});

/** The squad's id, from the first notification that names it. */
function toldInProgress(server: McpClient): Promise<string> {
  return until('progress', () => {
    const text = JSON.stringify(server.notifications);
    return /"token".*?(squad-[0-9a-f]{8}): 0 of 12 ended/.exec(text)?.[1];
  });
}

function expectAll(results: Record<string, unknown>[]) {
  expect(results.map(({ status, result }) => [status, result])).toEqual(
    members().map((_, index) => ['completed', `answer ${index + 1}`])
  );
}

test.each([
  ['leaves', async (server: McpClient) => void (await server.close())],
  [
    'is killed with its server',
    async (server: McpClient) => {
      server.child.kill('SIGKILL');
      await server.exited;
    }
  ]
])('when the client %s, the next server has all of them', async (_, end) => {
  const server = await start();
  const answering = server
    .call('start_squad_members', { members: members({}, '[[gate later]]') })
    .catch((error: unknown) => error);
  await all();
  const [first] = agents.calls();
  const asked = { agent_id: first?.env.TROUPE_AGENT_ID };
  const { data } = await server.call('result', asked);
  const squadId = String(data.squadId);
  await end(server);
  await answering;

  agents.open('later');
  expectAll(await waitForSquad(await start(), squadId));
});

test('a squad in the background is answered at once and ends by itself', async () => {
  const server = await start({ TROUPE_MAX_CONCURRENT: '4' });
  const answer = await server.call('start_squad_members', {
    members: members({}, '[[gate later]]'),
    background: true
  });
  const { squadId, members: told, message } = squadIn(answer);
  expect(told.map(({ status }) => status).sort()).toEqual([
    ...Array.from({ length: 8 }, () => 'queued'),
    ...Array.from({ length: 4 }, () => 'running')
  ]);
  for (const { rawStdout, rawStderr, result, cwd } of told)
    expect([rawStdout, rawStderr, result, cwd]).toEqual(['', '', '', '.']);
  expect(message).toContain(
    `12 of 12 have not ended. Next: wait_for_agents {"squadId":"${squadId}"}`
  );
  agents.open('later');
  expectAll(await waitForSquad(server, squadId));
});
