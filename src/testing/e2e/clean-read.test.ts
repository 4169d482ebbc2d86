import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runCommand } from '../command-line.ts';
import { addGateAgent } from '../gate-agent.ts';
import { type McpClient, startServer } from '../mcp-client.ts';
import { startSquad } from '../squad-call.ts';
import { createSummonStage } from '../summon-stage.ts';
import { createTempWorkspace, type TempWorkspace } from '../temp-workspace.ts';
import { until } from '../until.ts';

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

async function spawned(prompt = 'say hi'): Promise<string> {
  const { data } = await server.call('spawn_rehearsal', { prompt });
  return String(data.agent_id);
}

/** One that has ended, and that nobody has asked for. */
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
  expect([isRead(one), isRead(two)]).toEqual([true, false]);
  await server.call('wait_for_agents', { agent_ids: [two] });
  expect(isRead(two)).toBe(true);
});

test('so do the results of those that ended last, when none runs', async () => {
  const id = await ended();
  const { data } = await server.call('wait_for_agents');
  expect(data.status).toBe('no_agents_running');
  expect(isRead(id)).toBe(true);
});

test('a result that was cut to make room for others is not read', async () => {
  const long = `say ${'long '.repeat(3000)}`;
  const ids = [await ended(long), await ended(long), await ended()];
  await server.call('wait_for_agents', { agent_ids: ids });
  expect(ids.map(isRead)).toEqual([false, false, true]);
  for (const agent_id of ids) await server.call('result', { agent_id });
  expect(ids.map(isRead)).toEqual([true, true, true]);
});

test('an agent at work is not read by who looks how far it is', async () => {
  const gate = join(workspace.path, 'gate');
  const { data } = await server.call('spawn_gate', { prompt: gate });
  const id = String(data.agent_id);
  await server.call('result', { agent_id: id });
  await server.call('wait_for_agents', { agent_ids: [id], timeout: 0 });
  expect(isRead(id)).toBe(false);
  writeFileSync(gate, '');
  await server.call('wait_for_agents', { agent_ids: [id] });
  expect(isRead(id)).toBe(true);
});

test('a squad that is waited for is read, one in the background is not', async () => {
  const members = [{ roleId: 'architect', task: 'say a' }];
  const { members: told } = await startSquad(server, members);
  expect(isRead(told[0]?.agentId ?? '')).toBe(true);
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
  expect(isRead(opinion?.agent_id ?? '')).toBe(true);
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

test('on the command line those are read that are printed', async () => {
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
