import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  addProbeAgent,
  isAlive,
  linesOf,
  processesOf,
  survivorsOf,
  zooOf
} from '../../kit/agents/probe-agent.ts';
import { until } from '../../kit/judges/until.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

/** Stops take 3 s of grace before KILL; this is what a user is promised. */
const promisedMs = 5000;

let workspace: TempWorkspace;
let server: McpClient;
let unrelated: ChildProcess;
let bystander: string;

beforeAll(async () => {
  workspace = createTempWorkspace();
  addProbeAgent(workspace);
  workspace.write(
    'troupe.config.json',
    JSON.stringify({
      plugins: ['./probe.mjs'],
      engines: { probe: { idleTimeoutSeconds: 4 }, rehearsal: true },
      maxConcurrent: 30
    })
  );
  unrelated = spawn('sleep', ['1000'], { stdio: 'ignore' });
  server = await startServer(workspace);
  bystander = await start('spawn_rehearsal', 'hang');
});

afterAll(async () => {
  unrelated.kill();
  await server.call('cancel_agent', { agent_id: bystander });
  await server.close();
  workspace.remove();
});

describe.concurrent('every process of an agent is gone, wherever it went', () => {
  test('after cancel_agent', async () => {
    const { id, zoo } = await startZoo('canceled');
    const began = performance.now();
    const { data } = await server.call('cancel_agent', { agent_id: id });
    expect(data.status).toBe('canceled');
    expect(survivorsOf(zoo)).toEqual([]);
    expect(performance.now() - began).toBeLessThan(promisedMs);
    await expectBystandersAlive();
  });

  test('after a timeout', async () => {
    const { id, zoo } = await startZoo('late', { timeout: 3 });
    await expectGone(zoo, 3000 + promisedMs);
    expect(await result(id)).toMatchObject({
      status: 'timeout',
      error_code: 'timeout'
    });
    await expectBystandersAlive();
  });

  test('after an idle timeout', async () => {
    const { id, zoo } = await startZoo('idle');
    // 4 s, measured in steps of a quarter.
    await expectGone(zoo, 5000 + promisedMs);
    expect(await result(id)).toMatchObject({
      status: 'timeout',
      error_code: 'idle_timeout'
    });
    await expectBystandersAlive();
  });

  test('after its supervisor was killed', async () => {
    const { id, zoo } = await startZoo('orphan');
    const supervisor = Number.parseInt(readFileSync(claimOf(id), 'utf8'), 10);
    process.kill(supervisor, 'SIGKILL');
    await expectGone(zoo, promisedMs);
    expect(await result(id)).toMatchObject({ status: 'interrupted' });
    await expectBystandersAlive();
  });

  test('after it ended well and left some in the background', async () => {
    const file = join(workspace.path, 'left');
    const id = await start('spawn_probe', `leave ${file}`);
    expect(await result(id)).toMatchObject({
      status: 'completed',
      result: 'left'
    });
    await expectGone(await zooOf(file), promisedMs);
    await expectBystandersAlive();
  });

  test('after it stopped its own supervisor and was canceled', async () => {
    const file = join(workspace.path, 'frozen');
    const id = await start('spawn_probe', `freeze ${file}`);
    const zoo = await zooOf(file);
    const { data } = await server.call('cancel_agent', { agent_id: id });
    expect(data.status).toBe('canceled');
    expect(survivorsOf(zoo)).toEqual([]);
    await until('its supervisor', () => processesOf(id).length === 0);
  });

  test('after a cancel in the moment of its start', async () => {
    const cancelAtOnce = async (round: number) => {
      const file = join(workspace.path, `started-${round}`);
      // Places of agents that have just ended may still be taken.
      const spawned = await server.call('spawn_probe', {
        prompt: `zoo ${file}`
      });
      const id = String(spawned.data.agent_id);
      await until('the claim', () => existsSync(claimOf(id)));
      const { data } = await server.call('cancel_agent', { agent_id: id });
      expect(data.status).toBe('canceled');
      await until('the end of all', () => processesOf(id).length === 0);
    };
    await Promise.all([1, 2, 3, 4, 5, 6].map(cancelAtOnce));
  });
});

test.concurrent.each(['cancel_agent', 'timeout'])(
  'agents that an agent spawned end with it, at its %s',
  async (how) => {
    const file = join(workspace.path, `nest-${how}`);
    const timeout = how === 'timeout' ? 4 : 300;
    const outer = await start('spawn_probe', `nest ${file}`, { timeout });
    const inner = await until('the inner agent', () => linesOf(file)?.[0]);
    await until('its script', async () => {
      const { data } = await server.call('result', { agent_id: inner });
      return data.progress === 'hang';
    });
    const began = performance.now();
    if (how === 'cancel_agent')
      await server.call('cancel_agent', { agent_id: outer });
    const isGone = () => processesOf(inner).length === 0;
    await until('the end of the inner agent', isGone, 4000 + promisedMs);
    if (how === 'cancel_agent')
      expect(performance.now() - began).toBeLessThan(promisedMs);
    expect(await result(inner)).toMatchObject({ status: 'canceled' });
    await expectBystandersAlive();
  }
);

async function startZoo(name: string, more: Record<string, unknown> = {}) {
  const file = join(workspace.path, `zoo-${name}`);
  const id = await start('spawn_probe', `zoo ${file}`, more);
  return { id, zoo: await zooOf(file) };
}

function claimOf(id: string): string {
  return join(workspace.record, 'spawns', id, 'claim');
}

async function start(
  tool: string,
  prompt: string,
  more: Record<string, unknown> = {}
): Promise<string> {
  const { data, text } = await server.call(tool, { prompt, ...more });
  expect(data.status, text).toBe('running');
  return String(data.agent_id);
}

/** Waits for an agent and gives its result. */
async function result(id: string): Promise<unknown> {
  await server.call('wait_for_agents', { agent_ids: [id], timeout: 10 });
  return (await server.call('result', { agent_id: id })).data;
}

async function expectGone(zoo: Map<string, number>, withinMs: number) {
  const gone = () => survivorsOf(zoo).length === 0;
  await until('the end of all', gone, withinMs).catch(() => undefined);
  expect(survivorsOf(zoo)).toEqual([]);
}

async function expectBystandersAlive(): Promise<void> {
  expect(isAlive(unrelated.pid)).toBe(true);
  const { data } = await server.call('result', { agent_id: bystander });
  expect(data.status).toBe('running');
  expect(server.impurities).toEqual([]);
}
