import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../../kit/judges/until.ts';
import {
  type McpClient,
  type ServerOptions,
  startServer
} from '../../kit/servers/mcp-client.ts';
import {
  createStepWorkspace,
  type StepWorkspace,
  stepPrompt
} from '../../kit/workspaces/step-workspace.ts';

const promisedMs = 5000;
const waitId = 9001;

let workspace: StepWorkspace;
const servers: McpClient[] = [];

beforeAll(() => {
  workspace = createStepWorkspace();
});

/** Nothing but JSON-RPC on stdout, whatever a test did. */
afterEach(async () => {
  for (const server of servers.splice(0)) {
    await server.close();
    expect(server.impurities).toEqual([]);
  }
});

afterAll(() => workspace.remove());

async function start(options: ServerOptions = {}): Promise<McpClient> {
  const server = await startServer(workspace, options);
  servers.push(server);
  return server;
}

describe('a server lives on after', () => {
  test('a method it does not know, before initialize and at once', async () => {
    const server = await start({ raw: true });
    const began = performance.now();
    await expect(server.request('server/invent')).rejects.toThrow('-32601');
    expect(performance.now() - began).toBeLessThan(2000);
    await initialize(server);
    await expect(server.request('tools/invent')).rejects.toThrow('-32601');
    server.send({ jsonrpc: '2.0', method: 'notifications/of-what' });
    await expectAlive(server);
  });

  test('lines that are no messages', async () => {
    const server = await start();
    const lines = ['not JSON', '', '{}', '[]', 'null', '{"jsonrpc":"2.0"}'];
    for (const line of lines) server.child.stdin?.write(`${line}\n`);
    server.child.stdin?.write(Buffer.from([0xff, 0xfe, 0, 0x0a]));
    await expectAlive(server);
  });

  test('a message of 5 MB, which it takes byte for byte', async () => {
    const server = await start();
    const prompt = `${stepPrompt('large', 0)}${'가é\u0001"\\'.repeat(625_000)}`;
    const { data } = await server.call('spawn_step', { prompt });
    const id = String(data.agent_id);
    await server.call('wait_for_agents', { agent_ids: [id], timeout: 10 });
    const directory = join(workspace.record, 'spawns', id);
    expect(readFileSync(join(directory, 'prompt.txt'), 'utf8')).toBe(prompt);
    const { data: told } = await server.call('result', { agent_id: id });
    expect(told).toMatchObject({ status: 'completed', result: 'did large' });
  });
});

describe('a server ends within 5 s with exit code 0', () => {
  const ways: [how: string, end: (server: McpClient) => unknown][] = [
    ['at the end of its stdin', (server) => server.child.stdin?.end()],
    ['at SIGTERM', (server) => server.child.kill('SIGTERM')],
    ['at SIGINT', (server) => server.child.kill('SIGINT')],
    ['at SIGHUP', (server) => server.child.kill('SIGHUP')],
    [
      'when nobody reads its stdout any more',
      (server) => {
        server.child.stdout?.destroy();
        server.send({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
      }
    ]
  ];

  test.each(ways)('%s, though a wait is under way', async (_how, end) => {
    const server = await start();
    const { data } = await server.call('spawn_step', {
      prompt: stepPrompt('meanwhile', 0.5)
    });
    await waitFor(server, String(data.agent_id));
    const began = performance.now();
    end(server);
    expect(await server.exited).toEqual({ code: 0, signal: null });
    expect(performance.now() - began).toBeLessThan(promisedMs);
    // That a client leaves is no fault.
    expect(server.stderr).toBe('');
  });

  test.each(ways)('%s, before initialize', async (_how, end) => {
    const server = await start({ raw: true });
    await expect(server.request('server/discover')).rejects.toThrow();
    end(server);
    expect(await server.exited).toEqual({ code: 0, signal: null });
  });
});

describe('a client that leaves', () => {
  test('gets answers to what it sent together with its end', async () => {
    const server = await start({ raw: true });
    const answers = [
      initialize(server),
      server.request('tools/list'),
      server.call('spawn_step', { prompt: stepPrompt('goodbye', 0.1) }),
      server.call('list'),
      server.request('ping')
    ] as const;
    server.child.stdin?.end();
    const [, tools, spawned, list] = await Promise.all(answers);
    expect(tools.tools).toBeInstanceOf(Array);
    expect(spawned.data.status).toBe('running');
    expect(list.text).toContain(spawned.data.agent_id);
    expect(await server.exited).toEqual({ code: 0, signal: null });
    await until('the end of the agent', () =>
      workspace.steps().find(({ name, what }) => {
        return name === 'goodbye' && what === 'end';
      })
    );
  });

  test('gets a wait answered that was under way', async () => {
    const server = await start();
    const { data } = await server.call('spawn_step', {
      prompt: stepPrompt('unfinished', 0.5)
    });
    const ids = [String(data.agent_id)];
    await waitFor(server, ...ids);
    server.child.stdin?.end();
    expect(await server.exited).toEqual({ code: 0, signal: null });
    expect(answersTo(server, waitId)).toMatchObject([
      {
        result: { structuredContent: { status: 'timeout', still_running: ids } }
      }
    ]);
  });
});

describe('a wait', () => {
  test('that is cancelled gets no answer, and its agent goes on', async () => {
    const server = await start();
    const { data } = await server.call('spawn_step', {
      prompt: stepPrompt('waited-for', 0.3)
    });
    const id = String(data.agent_id);
    await waitFor(server, id);
    server.send({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: waitId, reason: 'no longer wanted' }
    });
    const again = await server.call('wait_for_agents', { agent_ids: [id] });
    expect(again.data).toMatchObject({
      status: 'all_completed',
      results: [{ agent_id: id, status: 'completed' }]
    });
    expect(answersTo(server, waitId)).toEqual([]);
  });

  test('reports the number of ended agents to clients with a token only', async () => {
    const server = await start({ env: { TROUPE_ENGINES: 'rehearsal' } });
    const agent_ids: string[] = [];
    for (const what of ['sheep', 'goats']) {
      const prompt = `progress counting ${what}\nhang`;
      const { data } = await server.call('spawn_rehearsal', { prompt });
      agent_ids.push(String(data.agent_id));
    }
    const [first, second] = agent_ids;
    await until('the last that the second does', async () => {
      const { data } = await server.call('result', { agent_id: second });
      return data.progress === 'hang';
    });
    const waits = [{}, { progressToken: 'sheep' }].map((meta) =>
      server.call('wait_for_agents', { agent_ids }, meta)
    );
    const told = () => server.notifications.map(({ params }) => Object(params));
    for (const agent_id of agent_ids) {
      const ended = agent_ids.indexOf(agent_id);
      await until(`${ended} ended`, () => told().length > ended);
      await server.call('cancel_agent', { agent_id });
    }
    for (const { data } of await Promise.all(waits))
      expect(data.status).toBe('all_completed');
    const of = { progressToken: 'sheep', total: 2 };
    const names = (...ids: (string | undefined)[]) =>
      ids.map((id) => `; Rehearsal ${id}: hang`).join('');
    expect(told()).toEqual([
      { ...of, progress: 0, message: expect.stringContaining('0 of 2 ended;') },
      { ...of, progress: 1, message: `1 of 2 ended${names(second)}` },
      { ...of, progress: 2, message: '2 of 2 ended' }
    ]);
    expect(told()[0]?.message).toContain(`Rehearsal ${first}: `);
  });
});

async function initialize(server: McpClient): Promise<void> {
  const answer = server.request('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'troupe-test', version: '1' }
  });
  server.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
  await answer;
}

async function expectAlive(server: McpClient): Promise<void> {
  const { data } = await server.call('list');
  expect(data.tip).toBeTypeOf('string');
}

/** Starts a wait whose answer is not waited for, and sees it taken up. */
async function waitFor(server: McpClient, ...agent_ids: string[]) {
  server.send({
    jsonrpc: '2.0',
    id: waitId,
    method: 'tools/call',
    params: { name: 'wait_for_agents', arguments: { agent_ids } }
  });
  await server.request('ping');
}

function answersTo(server: McpClient, id: number) {
  return server.notifications.filter((message) => message.id === id);
}
