import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { addGateAgent } from '../../kit/agents/gate-agent.ts';
import { until } from '../../kit/judges/until.ts';
import { runCommand } from '../../kit/servers/command-line.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import { startSquad } from '../../kit/servers/squad-call.ts';
import { createSummonStage } from '../../kit/workspaces/summon-stage.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let server: McpClient;

beforeEach(async () => {
  workspace = createTempWorkspace();
  addGateAgent(workspace);
  workspace.write(
    'troupe.config.json',
    JSON.stringify({
      plugins: ['./gate.mjs'],
      engines: { rehearsal: true },
      squad: { engine: 'rehearsal' }
    })
  );
  server = await startServer(workspace);
});

afterEach(async () => {
  expect(server.stderr).toBe('');
  await server.close();
  workspace.remove();
});

const fileOf = (id: string, name: string) =>
  join(workspace.record, 'spawns', id, name);

const isRead = (id: string) => existsSync(fileOf(id, 'read'));

/** The mark is made when the answer has been written. */
const read = (...ids: string[]) =>
  until(`${ids} to be read`, () => ids.every(isRead));

async function spawned(prompt = 'say hi'): Promise<string> {
  const { data } = await server.call('spawn_rehearsal', { prompt });
  return String(data.agent_id);
}

/** An ended agent that no caller has asked for. */
async function ended(prompt?: string): Promise<string> {
  const id = await spawned(prompt);
  await until('its end', () => existsSync(fileOf(id, 'outcome.json')));
  return id;
}

test('result and wait_for_agents make an agent read, list does not', async () => {
  const [one, two] = [await ended(), await ended()];
  await server.call('list', { limit: 5 });
  expect([isRead(one), isRead(two)]).toEqual([false, false]);
  await server.call('result', { agent_id: one });
  await read(one);
  expect(isRead(two)).toBe(false);
  await server.call('wait_for_agents', { agent_ids: [two] });
  await read(two);
});

test('so do the results of the agents that ended last, when none runs', async () => {
  const id = await ended();
  const { data } = await server.call('wait_for_agents');
  expect(data.status).toBe('no_agents_running');
  await read(id);
});

test('a result that was cut for lack of room does not count as read', async () => {
  const long = `say ${'long '.repeat(3000)}`;
  const [one, two, short] = [
    await ended(long),
    await ended(long),
    await ended()
  ];
  await server.call('wait_for_agents', { agent_ids: [one, two, short] });
  await read(short);
  expect([one, two].map(isRead)).toEqual([false, false]);
  for (const agent_id of [one, two]) await server.call('result', { agent_id });
  await read(one, two);
});

test('reading the progress of a running agent does not mark it as read', async () => {
  const gate = join(workspace.path, 'gate');
  const { data } = await server.call('spawn_gate', { prompt: gate });
  const id = String(data.agent_id);
  await server.call('result', { agent_id: id });
  await server.call('wait_for_agents', { agent_ids: [id], timeout: 0 });
  expect(isRead(id)).toBe(false);
  writeFileSync(gate, '');
  await server.call('wait_for_agents', { agent_ids: [id] });
  await read(id);
});

test('a squad that is waited for is read, one in the background is not', async () => {
  const members = [{ roleId: 'architect', task: 'say a' }];
  const { members: told } = await startSquad(server, members);
  await read(told[0]?.agentId ?? '');
  const { data } = await server.call('start_squad_members', {
    members,
    background: true
  });
  const [member] = data.members as { agentId: string }[];
  const id = member?.agentId ?? '';
  await until('its end', () => existsSync(fileOf(id, 'outcome.json')));
  expect(isRead(id)).toBe(false);
});

test('a second opinion is read', async () => {
  const { data } = await server.call('second_opinion', {
    question: 'say yes',
    engines: ['rehearsal']
  });
  const [opinion] = data.opinions as { agent_id: string }[];
  await read(opinion?.agent_id ?? '');
});

test('an answer that cannot be written to its client is not read', async () => {
  const agent_id = await ended();
  const other = await startServer(workspace);
  other.child.stdout?.destroy();
  other.send({
    jsonrpc: '2.0',
    id: 'a result',
    method: 'tools/call',
    params: { name: 'result', arguments: { agent_id } }
  });
  await other.exited;
  expect(isRead(agent_id)).toBe(false);
});

test('a summoned answer is read when it stands in its council', async () => {
  const stage = createSummonStage();
  const one = await stage.serve();
  const name = { agent_name: 'asker' };
  await one.call('start_council', { ...name, request: 'Which?' });
  const { data } = await one.call('summon_agent', {
    ...name,
    engine: 'oracle'
  });
  const id = String(data.agent_id);
  await stage.settled(id);
  await stage.marksAre();
  const mark = join(stage.record, 'spawns', id, 'read');
  expect(existsSync(mark)).toBe(true);
  await stage.close();
});

test('on the command line, printed agents count as read', async () => {
  const troupe = (...args: string[]) => runCommand(workspace, args);
  const [one, two] = [await ended(), await ended()];
  await troupe('wait', one, two);
  await troupe('list');
  expect([isRead(one), isRead(two)]).toEqual([false, false]);
  await troupe('wait', one, '--json');
  await troupe('result', two);
  expect([isRead(one), isRead(two)]).toEqual([true, true]);
  const run = await troupe('run', 'rehearsal', 'say hi', '--json');
  expect(isRead(JSON.parse(run.stdout).agent_id)).toBe(true);
});
