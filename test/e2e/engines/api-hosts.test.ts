import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import { processEntry } from '../../../src/adapters/child-process/process-table.ts';
import { until } from '../../kit/judges/until.ts';
import type { McpClient } from '../../kit/servers/mcp-client.ts';
import { apiHostsOf, textIn } from '../../kit/workspaces/api-processes.ts';
import {
  type ApiWorkspace,
  createApiWorkspace,
  ended,
  spawnApi
} from '../../kit/workspaces/api-workspace.ts';
import { needing } from '../../kit/workspaces/needs.ts';
import { saysInHalves, stallsAfter } from '../../provider-fake/answers.ts';
import type { ApiName } from '../../provider-fake/asked.ts';

const testHosts = needing('/proc', existsSync('/proc/self/environ'));

let workspace: ApiWorkspace;
let server: McpClient;

beforeEach(async () => {
  workspace = await createApiWorkspace();
  server = await workspace.start();
});

afterEach(async () => {
  for (const pid of apiHostsOf(workspace)) process.kill(pid, 'SIGCONT');
  await workspace.close();
  const gone = () => apiHostsOf(workspace).length === 0 || undefined;
  await until('the end of every host', gone);
});

/** Agents of one engine, each with a half of its answer. */
async function halfDone(engine: ApiName, count = 3) {
  const { answer, release } = saysInHalves('half', ' and half');
  workspace.fakes[engine].plan('Go on', answer);
  const ids = await Promise.all(
    Array.from({ length: count }, () => spawnApi(server, engine, 'Go on'))
  );
  for (const id of ids) await untilHalf(id);
  return { ids, release };
}

async function untilHalf(id: string): Promise<void> {
  await until('half of the answer', async () => {
    const { data } = await server.call('result', { agent_id: id });
    return data.progress === 'half' || undefined;
  });
}

async function hostOf(engine: ApiName): Promise<number> {
  return until('a host', () => apiHostsOf(workspace, engine)[0]);
}

async function hasEnded(pid: number): Promise<void> {
  await until('its end', () => textIn(pid, 'cmdline') === '' || undefined);
}

const completed = { status: 'completed', result: 'half and half' };

testHosts(
  'agents of one engine share a host, and no other process has its key',
  async () => {
    const mistral = await halfDone('mistral');
    const grok = await halfDone('grok');
    const hosts = apiHostsOf(workspace);
    expect(hosts).toHaveLength(2);
    for (const engine of ['mistral', 'grok'] as const) {
      const [host = 0, ...others] = apiHostsOf(workspace, engine);
      expect(others).toEqual([]);
      const environment = textIn(host, 'environ').split('\0');
      expect(environment).toContain(
        `TROUPE_API_KEY=${workspace.fakes[engine].key}`
      );
      const other = engine === 'grok' ? 'mistral' : 'grok';
      expect(textIn(host, 'environ')).not.toContain(workspace.fakes[other].key);
      expect(textIn(host, 'cmdline')).not.toContain(
        workspace.fakes[engine].key
      );
    }
    mistral.release();
    grok.release();
    for (const id of [...mistral.ids, ...grok.ids])
      expect(await ended(server, id)).toMatchObject(completed);
  }
);

testHosts('a host belongs to no agent, no server and no terminal', async () => {
  const { ids, release } = await halfDone('mistral', 1);
  const host = await hostOf('mistral');
  expect(textIn(host, 'environ')).not.toMatch(/TROUPE_(AGENT|DEPTH)/);
  const entry = processEntry(host);
  const ours = processEntry(server.pid);
  expect(entry?.parent).not.toBe(server.pid);
  expect(entry?.session).not.toBe(ours?.session);
  release();
  await ended(server, ids[0] ?? '');
});

testHosts('a killed host interrupts its agents, and no others', async () => {
  const { ids } = await halfDone('mistral');
  const grok = await halfDone('grok', 1);
  process.kill(await hostOf('mistral'), 'SIGKILL');
  for (const id of ids)
    expect(await ended(server, id)).toMatchObject({
      status: 'interrupted',
      error_code: 'interrupted',
      result: 'half'
    });
  expect(workspace.fakes.mistral.asked('Go on')).toHaveLength(ids.length);
  grok.release();
  expect(await ended(server, grok.ids[0] ?? '')).toMatchObject(completed);
  const next = await spawnApi(server, 'mistral', 'And now?');
  expect(await ended(server, next)).toMatchObject({ result: 'ok' });
});

testHosts('another server reads the same end from disk', async () => {
  const { ids } = await halfDone('mistral');
  server.child.kill('SIGKILL');
  await server.exited;
  process.kill(await hostOf('mistral'), 'SIGKILL');
  await until(
    'their ends',
    () => workspace.survivors().length === 0 || undefined
  );
  server = await workspace.start();
  for (const id of ids)
    expect(await ended(server, id)).toMatchObject({
      status: 'interrupted',
      result: 'half'
    });
});

testHosts(
  'a host serves its agents after its server, and then ends',
  async () => {
    const { ids, release } = await halfDone('mistral');
    const host = await hostOf('mistral');
    server.child.kill('SIGKILL');
    await server.exited;
    release();
    await hasEnded(host);
    server = await workspace.start();
    for (const id of ids)
      expect(await ended(server, id)).toMatchObject(completed);
    expect(workspace.fakes.mistral.asked('Go on')).toHaveLength(ids.length);
  }
);

testHosts('a host without agents ends although its server stays', async () => {
  const { ids, release } = await halfDone('mistral', 1);
  const host = await hostOf('mistral');
  release();
  await ended(server, ids[0] ?? '');
  await hasEnded(host);
  const next = await spawnApi(server, 'mistral', 'And now?');
  expect(await ended(server, next)).toMatchObject({ result: 'ok' });
});

testHosts('the cancel of one agent ends its call alone', async () => {
  const { ids, release } = await halfDone('mistral');
  const { mistral } = workspace.fakes;
  mistral.plan('For ever', stallsAfter('half'));
  const id = await spawnApi(server, 'mistral', 'For ever');
  await untilHalf(id);
  await server.call('cancel_agent', { agent_id: id });
  const [call] = mistral.asked('For ever');
  await until('its end', () => call?.abandoned || undefined, 2000);
  expect(mistral.asked('Go on').some((one) => one.abandoned)).toBe(false);
  release();
  for (const one of ids)
    expect(await ended(server, one)).toMatchObject(completed);
});

testHosts(
  'agents whose host ends before it takes them run on their own',
  async () => {
    await halfDone('mistral', 1);
    const host = await hostOf('mistral');
    process.kill(host, 'SIGSTOP');
    const ids = await Promise.all(
      Array.from({ length: 3 }, () => spawnApi(server, 'mistral', 'Anyone?'))
    );
    await until(
      'their start',
      () => workspace.survivors().length === 4 || undefined
    );
    process.kill(host, 'SIGKILL');
    for (const id of ids)
      expect(await ended(server, id)).toMatchObject({
        status: 'completed',
        result: 'ok'
      });
    expect(workspace.fakes.mistral.asked('Anyone?')).toHaveLength(3);
  }
);

testHosts(
  'agents that a killed server has not handed over run on their own',
  async () => {
    await halfDone('mistral', 1);
    const host = await hostOf('mistral');
    process.kill(host, 'SIGSTOP');
    const ids = await Promise.all(
      Array.from({ length: 3 }, () => spawnApi(server, 'mistral', 'Anyone?'))
    );
    await until(
      'their start',
      () => workspace.survivors().length === 4 || undefined
    );
    server.child.kill('SIGKILL');
    await server.exited;
    process.kill(host, 'SIGCONT');
    server = await workspace.start();
    for (const id of ids)
      expect(await ended(server, id)).toMatchObject({
        status: 'completed',
        result: 'ok'
      });
    expect(workspace.fakes.mistral.asked('Anyone?')).toHaveLength(3);
  }
);

testHosts('a server killed right after spawns costs no agent', async () => {
  const spawned = Array.from({ length: 5 }, () =>
    spawnApi(server, 'mistral', 'Anyone?')
  );
  const ids = await Promise.all(spawned);
  const claimOf = (id: string) => join(workspace.record, 'spawns', id, 'claim');
  await until(
    'their start',
    () => ids.every((id) => existsSync(claimOf(id))) || undefined
  );
  server.child.kill('SIGKILL');
  await server.exited;
  server = await workspace.start();
  for (const id of ids)
    expect(await ended(server, id)).toMatchObject({
      status: 'completed',
      result: 'ok'
    });
  expect(workspace.fakes.mistral.asked('Anyone?')).toHaveLength(ids.length);
});

testHosts(
  'with onDisconnect "stop", agents and host end with the server',
  async () => {
    workspace.configure({ onDisconnect: 'stop' });
    server = await workspace.start();
    const { ids } = await halfDone('mistral');
    const host = await hostOf('mistral');
    server.child.kill('SIGKILL');
    await server.exited;
    await until(
      'the end of all agents',
      () => workspace.survivors().length === 0 || undefined,
      5000
    );
    await hasEnded(host);
    const calls = workspace.fakes.mistral.asked('Go on');
    await until(
      'the end of all calls',
      () => calls.every((call) => call.abandoned) || undefined
    );
    server = await workspace.start();
    for (const id of ids)
      expect(await ended(server, id)).toMatchObject({ status: 'interrupted' });
  }
);

testHosts('a changed key reaches a host of its own', async () => {
  const { ids, release } = await halfDone('mistral', 1);
  const before = await hostOf('mistral');
  workspace.keys({ MISTRAL_API_KEY: 'another-key' });
  const id = await spawnApi(server, 'mistral', 'Hi');
  expect(await ended(server, id)).toMatchObject({ error_code: 'auth' });
  const [after] = apiHostsOf(workspace, 'mistral').filter(
    (pid) => pid !== before
  );
  expect(textIn(after ?? 0, 'environ')).toContain('another-key');
  release();
  expect(await ended(server, ids[0] ?? '')).toMatchObject(completed);
});
