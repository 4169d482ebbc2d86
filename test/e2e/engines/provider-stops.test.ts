import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../../kit/judges/until.ts';
import type { McpClient } from '../../kit/servers/mcp-client.ts';
import {
  type ApiWorkspace,
  createApiWorkspace,
  ended,
  spawnApi
} from '../../kit/workspaces/api-workspace.ts';
import {
  nothing,
  type ProviderAnswer,
  saysInHalves,
  stallsAfter
} from '../../provider-fake/answers.ts';
import { type ApiName, apiEngines } from '../../provider-fake/asked.ts';
import { startProviderFake } from '../../provider-fake/fake.ts';

let workspace: ApiWorkspace;
let server: McpClient;

beforeAll(async () => {
  workspace = await createApiWorkspace();
  server = await workspace.start();
});

afterAll(async () => {
  expect(server.impurities).toEqual([]);
  expect(server.stderr).toBe('');
  await workspace.close();
});

/** Supervisors go a moment after the end that they have written down. */
async function allGone(): Promise<void> {
  const none = () => workspace.survivors().length === 0 || undefined;
  await until('the end of every process', none);
}

/** Every engine with every silence, all at once. */
async function endsOfSilence(from: McpClient, more: Record<string, unknown>) {
  const silences: [name: string, answer: ProviderAnswer, kept: string][] = [
    ['no word', nothing, ''],
    ['half an answer', stallsAfter('half'), 'half']
  ];
  const spawned = apiEngines.flatMap((engine) =>
    silences.map(async ([name, answer, kept]) => {
      workspace.fakes[engine].plan(name, answer);
      const id = await spawnApi(from, engine, name, more);
      return { about: `${engine}, ${name}`, kept, id };
    })
  );
  return Promise.all(
    (await Promise.all(spawned)).map(async (one) => ({
      ...one,
      told: await ended(from, one.id)
    }))
  );
}

describe('a provider that says nothing, or stops in the middle,', () => {
  test('is left at the time limit', async () => {
    const ends = await endsOfSilence(server, { timeout: 2 });
    for (const { about, kept, told } of ends) {
      expect(told, about).toMatchObject({
        status: 'timeout',
        error_code: 'timeout'
      });
      // A slow machine may not have come to the half.
      expect(['', kept], about).toContain(told.result);
      expect(told.error).toMatch(/Spawn again with a larger timeout\.$/);
    }
    await allGone();
  });

  test('is left at the idle limit', async () => {
    workspace.configure({}, { idleTimeoutSeconds: 1 });
    const impatient = await workspace.start();
    const ends = await endsOfSilence(impatient, {});
    workspace.configure({});
    for (const { about, kept, told } of ends) {
      expect(told, about).toMatchObject({
        status: 'timeout',
        error_code: 'idle_timeout'
      });
      expect(['', kept], about).toContain(told.result);
      expect(told.error).toMatch(/sent nothing for the idle time limit/);
    }
  });
});

test.each(apiEngines)(
  '%s: an address without a listener is a network failure',
  async (engine) => {
    const closed = await startProviderFake(engine);
    await closed.close();
    workspace.configure({}, { baseUrl: closed.url });
    const lost = await workspace.start();
    const told = await ended(lost, await spawnApi(lost, engine, 'Anyone?'));
    workspace.configure({});
    expect(told).toMatchObject({ status: 'failed', error_code: 'network' });
    expect(told.error).toMatch(
      /could not be reached: connect ECONNREFUSED 127\.0\.0\.1:\d+ \(3 attempts\)\. Check the connection, the proxy and baseUrl\.$/
    );
  }
);

/** Spawns one whose answer stops in the middle, and waits until it is there. */
async function inTheMiddle(engine: ApiName, prompt: string): Promise<string> {
  const id = await spawnApi(server, engine, prompt);
  await until('half of the answer', async () => {
    const { data } = await server.call('result', { agent_id: id });
    return data.progress === 'half' || undefined;
  });
  return id;
}

test.each(apiEngines)(
  '%s: a cancel ends the call and keeps what was said',
  async (engine) => {
    const fake = workspace.fakes[engine];
    fake.plan('Go on for ever', stallsAfter('half'));
    const id = await inTheMiddle(engine, 'Go on for ever');
    const { data } = await server.call('cancel_agent', {
      agent_id: id,
      reason: 'enough'
    });
    expect(data.status).toBe('canceled');
    expect(await ended(server, id)).toMatchObject({
      status: 'canceled',
      error: 'Canceled: enough',
      error_code: 'canceled',
      result: 'half'
    });
    const [request] = fake.asked('Go on for ever');
    await until('the end of the call', () => request?.abandoned || undefined);
    await allGone();
  }
);

test.each(apiEngines)(
  '%s: a server killed in the middle costs nothing',
  async (engine) => {
    const killed = server;
    const { answer, release } = saysInHalves('half', ' and half');
    workspace.fakes[engine].plan('Survive', answer);
    const id = await inTheMiddle(engine, 'Survive');
    killed.child.kill('SIGKILL');
    await killed.exited;
    expect(workspace.survivors()).toEqual([id]);
    release();
    server = await workspace.start();
    expect(await ended(server, id)).toMatchObject({
      status: 'completed',
      result: 'half and half',
      usage: { total_tokens: 15 }
    });
    expect(workspace.fakes[engine].asked('Survive')).toHaveLength(1);
    await allGone();
  }
);

test('agents of an API do not wait behind programs', async () => {
  const busy = await workspace.start({
    env: { TROUPE_ENGINES: 'openai,rehearsal' }
  });
  const idsOf = async (entries: Promise<string>[]) => Promise.all(entries);
  const programs = await idsOf(
    Array.from({ length: 9 }, async () => {
      const { data } = await busy.call('spawn_rehearsal', { prompt: 'hang' });
      return String(data.agent_id);
    })
  );
  const { answer, release } = saysInHalves('half', ' and half');
  const { openai } = workspace.fakes;
  openai.plan('Many', answer);
  const calls = await idsOf(
    Array.from({ length: 20 }, () => spawnApi(busy, 'openai', 'Many'))
  );
  await until('16 calls', () => openai.asked('Many').length >= 16 || undefined);
  const { data } = await busy.call('list');
  const countOf = (list: unknown, type: string) =>
    Array.isArray(list) ? list.filter((one) => one.type === type).length : 0;
  expect(countOf(data.running, 'rehearsal')).toBe(8);
  expect(countOf(data.queued, 'rehearsal')).toBe(1);
  expect(countOf(data.running, 'openai')).toBe(16);
  expect(countOf(data.queued, 'openai')).toBe(4);
  expect(openai.asked('Many')).toHaveLength(16);
  release();
  for (const id of calls)
    expect(await ended(busy, id)).toMatchObject({ status: 'completed' });
  for (const agent_id of programs)
    await busy.call('cancel_agent', { agent_id });
});
