import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  addNestingAgent,
  answersOf,
  type How,
  nesting,
  spawnNester
} from '../../kit/agents/nesting-agent.ts';
import { until } from '../../kit/judges/until.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let server: McpClient;

beforeEach(async () => {
  workspace = createTempWorkspace();
  addNestingAgent(workspace, { maxDepth: 2 });
  server = await startServer(workspace, { flags: ['--toolsets', 'all'] });
});

afterEach(async () => {
  await server.close();
  expect(server.impurities).toEqual([]);
  expect(server.stderr).toBe('');
  workspace.remove();
});

function recordOf(agentId: unknown) {
  const folder = join(workspace.record, 'spawns', String(agentId));
  return JSON.parse(readFileSync(join(folder, 'record.json'), 'utf8'));
}

/** Calls a tool two agents deep, each with a server that it started so. */
function twoDeep(how: How, tool: string, args: Record<string, unknown>) {
  const flags = ['--toolsets', 'all'];
  const inner = { how, flags, calls: [{ tool, arguments: args }] };
  return {
    how,
    calls: [
      { tool: 'spawn_nester', arguments: { prompt: nesting(inner) } },
      { tool: 'wait_for_agents', arguments: { agent_ids: ['$id'] } },
      { tool: 'result', arguments: { agent_id: '$id' } }
    ]
  };
}

const ways: [How, string][] = [
  ['plain', 'hands its environment on'],
  ['bare', 'clears the environment'],
  ['session', 'clears it and gives it a session of its own'],
  ['reparented', 'clears it and is not its parent any more']
];

describe('an agent that starts its server and', () => {
  test.each(ways)('(%s) %s is seen, and stopped at maxDepth', async (how) => {
    const spawn = { prompt: 'say too deep' };
    const outer = await spawnNester(
      server,
      twoDeep(how, 'spawn_rehearsal', spawn)
    );
    const [spawned, , result] = await answersOf(server, outer);
    expect(recordOf(outer)).toMatchObject({ depth: 1, parent: null });
    const inner = recordOf(spawned?.data.agent_id);
    expect(inner).toMatchObject({ depth: 2, parent: outer });
    const [refused] = JSON.parse(String(result?.data.result));
    expect(refused.isError).toBe(true);
    expect(refused.data).toMatchObject({
      error_code: 'depth_limit',
      error: expect.stringContaining('at depth 2; the limit is 2')
    });
    const journal = readFileSync(join(workspace.record, 'iac.jsonl'), 'utf8');
    const spawns = journal.match(/"type":"spawned"/g);
    expect(spawns).toHaveLength(2);
    expect(journal).toContain(`"parent":"${outer}"`);
  });
});

test.each([
  ['start_squad_members', { members: [{ roleId: 'reviewer', task: 'x' }] }],
  ['agent_create', { name: 'w', role: 'You wait.' }],
  ['second_opinion', { question: 'Why?', engines: ['rehearsal'] }]
])('%s is stopped at maxDepth, too', async (tool, args) => {
  const outer = await spawnNester(server, twoDeep('bare', tool, args));
  const [, , result] = await answersOf(server, outer);
  const [refused] = JSON.parse(String(result?.data.result));
  expect(refused).toMatchObject({
    isError: true,
    data: { error_code: 'depth_limit' }
  });
});

test('with an agent, the ones end that it started without its environment', async () => {
  const outer = await spawnNester(server, {
    how: 'session',
    calls: [{ tool: 'spawn_rehearsal', arguments: { prompt: 'hang' } }],
    until: join(workspace.path, 'never')
  });
  const inner = await until('its agent', async () => {
    const { data } = await server.call('list');
    const running = data.running as { id: string }[];
    return running.map(({ id }) => id).find((id) => id !== outer);
  });
  await server.call('cancel_agent', { agent_id: outer });
  const { data } = await server.call('result', { agent_id: inner });
  expect(data).toMatchObject({
    status: 'canceled',
    error: expect.stringContaining(outer)
  });
});

test('a person learns that an agent was there before', async () => {
  const agent = '0badcafe';
  const left = await startServer(workspace, {
    env: {
      TROUPE_DEPTH: '2',
      TROUPE_AGENT_ID: agent,
      TROUPE_AGENT_DIR: join(workspace.record, 'spawns', agent)
    }
  });
  const { data } = await left.call('spawn_rehearsal', { prompt: 'say x' });
  await left.close();
  expect(data).toMatchObject({
    error_code: 'depth_limit',
    error: expect.stringContaining('left running, at depth 2; the limit is 2'),
    hint: expect.stringContaining('a terminal that no agent has opened')
  });
});
