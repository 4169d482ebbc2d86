import {
  existsSync,
  readFileSync,
  unlinkSync,
  utimesSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readIfExists } from '../../../src/core/state/files/atomic-file.ts';
import { addGateAgent, saidAnswer } from '../../kit/agents/gate-agent.ts';
import { until } from '../../kit/judges/until.ts';
import { runCommand } from '../../kit/servers/command-line.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import { agentsAlive } from '../../kit/workspaces/step-workspace.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let gate: string;
let without: string[];
let servers: McpClient[];

beforeEach(() => {
  workspace = createTempWorkspace();
  gate = join(workspace.home, 'gate');
  addGateAgent(workspace);
  const settings = { engines: { rehearsal: true }, maxConcurrent: 1 };
  const file = join(workspace.home, 'without.json');
  writeFileSync(file, JSON.stringify(settings));
  without = ['--config', file];
  servers = [];
});

afterEach(async () => {
  for (const server of servers) await server.close();
  workspace.remove();
});

async function start(flags: string[] = []): Promise<McpClient> {
  const server = await startServer(workspace, { flags });
  servers.push(server);
  return server;
}

/** An agent whose server was killed, with one that lacks its engine. */
async function left() {
  const owner = await start();
  const { data } = await owner.call('spawn_gate', { prompt: gate });
  const id = String(data.agent_id);
  await saidAnswer(workspace, id);
  const other = await start(without);
  owner.child.kill('SIGKILL');
  await owner.exited;
  return { id, other };
}

const file = (id: string, name: string) =>
  join(workspace.record, 'spawns', id, name);
const journal = () => readIfExists(workspace.paths.journal) ?? '';

async function resultOf(server: McpClient, agent_id: string) {
  return (await server.call('result', { agent_id })).data;
}

test('a server without the engine judges no end, and says so', async () => {
  const { id, other } = await left();
  const waiting = other.call('wait_for_agents', { agent_ids: [id] });
  writeFileSync(gate, '');
  const { data, text } = await waiting;
  expect(data).toMatchObject({
    results: [{ agent_id: id, status: 'failed', error_code: 'bad_output' }]
  });
  expect(text).toContain('The engine \\"gate\\" is not configured here');
  expect(text).toContain(file(id, 'stdout'));
  expect(await resultOf(other, id)).toMatchObject({ status: 'failed' });
  const listed = await other.call('list');
  expect(listed.data).toMatchObject({ running: [], completed_ids: [id] });
  const next = await other.call('spawn_rehearsal', { prompt: 'say x' });
  expect(next.data.status).toBe('running');
  const again = await other.call('cancel_agent', { agent_id: id });
  expect(again.text).toContain('It had ended before');
  for (const name of ['outcome.json', 'result.txt', 'read'])
    expect(existsSync(file(id, name)), name).toBe(false);
  expect(journal()).not.toContain(`"type":"finished","agent_id":"${id}"`);

  const able = await start();
  expect(await resultOf(able, id)).toMatchObject({
    status: 'completed',
    result: 'answer'
  });
  expect(await resultOf(other, id)).toMatchObject({ result: 'answer' });
  expect(readFileSync(file(id, 'result.txt'), 'utf8')).toBe('answer');
});

test('of two servers the one with the engine judges, and the other waits for it', async () => {
  for (let round = 0; round < 4; round += 1) {
    const { id, other } = await left();
    const able = await start();
    const waits = [other, able].map((server) =>
      server.call('wait_for_agents', { agent_ids: [id] })
    );
    writeFileSync(gate, '');
    for (const { data } of await Promise.all(waits))
      expect(data.results).toMatchObject([
        { status: 'completed', result: 'answer' }
      ]);
    const outcome = JSON.parse(readFileSync(file(id, 'outcome.json'), 'utf8'));
    expect(outcome).toMatchObject({
      result_file: 'result.txt',
      result_chars: 6
    });
    unlinkSync(gate);
    await Promise.all([other.close(), able.close()]);
  }
});

test('one without the engine cancels it, and what it said is kept', async () => {
  const { id, other } = await left();
  const canceled = await other.call('cancel_agent', { agent_id: id });
  expect(canceled.data.status).toBe('canceled');
  await until('its end', () => !agentsAlive(workspace).includes(id));
  expect(existsSync(file(id, 'outcome.json'))).toBe(false);
  const able = await start();
  expect(await resultOf(able, id)).toMatchObject({
    status: 'canceled',
    result: 'answer'
  });
});

test('it is removed by its name alone', async () => {
  const { id, other } = await left();
  writeFileSync(gate, '');
  await other.call('wait_for_agents', { agent_ids: [id] });
  await other.close();
  utimesSync(file(id, 'exit'), 1, 1);
  const clean = (...args: string[]) =>
    runCommand(workspace, ['clean', ...args, '--yes', ...without]);
  expect((await clean('--keep', '0')).code).toBe(0);
  expect(existsSync(file(id, 'record.json'))).toBe(true);
  const named = await clean(id);
  expect(named.code, named.stderr).toBe(0);
  expect(existsSync(file(id, 'record.json'))).toBe(false);
});
