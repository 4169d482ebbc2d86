import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  ModernClient,
  metaWithout,
  modernRevision,
  serverInfo
} from '../../kit/servers/modern-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

const revisions = [
  modernRevision,
  ...['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '2024-10-07']
];

let workspace: TempWorkspace;
let server: McpClient;
let client: ModernClient;

beforeAll(async () => {
  workspace = createTempWorkspace();
  server = await startServer(workspace, {
    flags: ['--engines', 'rehearsal'],
    raw: true
  });
  client = new ModernClient(server);
});

afterAll(async () => {
  expect((await server.close()).code).toBe(0);
  expect(server.impurities).toEqual([]);
  expect(server.stderr).not.toContain('bug');
  workspace.remove();
});

describe('a request that describes itself, without initialize', () => {
  test('server/discover names the revisions, what is served, and how to use it', async () => {
    const { result } = await client.ask('server/discover');
    expect(result).toMatchObject({
      resultType: 'complete',
      supportedVersions: revisions,
      capabilities: {
        tools: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
        prompts: {},
        completions: {}
      },
      instructions: expect.stringContaining('spawn_rehearsal'),
      ttlMs: expect.any(Number),
      cacheScope: 'private',
      _meta: { [serverInfo]: { name: 'troupe' } }
    });
  });

  test('the instructions and descriptions name no tool that is not listed', async () => {
    const [discovered, listed] = await Promise.all([
      client.ask('server/discover'),
      client.ask('tools/list')
    ]);
    const tools: { name: string }[] = Object(listed.result).tools;
    const names = tools.map(({ name }) => name);
    const text = `${discovered.result?.instructions} ${JSON.stringify(tools)}`;
    const unserved = ['agent_create', 'task_enqueue', 'wait_for_command'];
    for (const name of unserved) {
      expect(names).not.toContain(name);
      expect(text).not.toContain(name);
    }
    for (const [name] of text.matchAll(/\b(spawn|start|send|wait)_\w+/g))
      expect(names).toContain(name);
  });

  test.each([
    ['tools/list', 'tools'],
    ['prompts/list', 'prompts'],
    ['resources/list', 'resources'],
    ['resources/templates/list', 'resourceTemplates']
  ])('%s says how long its answer stays fresh', async (method, field) => {
    const { result } = await client.ask(method);
    expect(result).toMatchObject({
      resultType: 'complete',
      [field]: expect.any(Array),
      ttlMs: expect.any(Number),
      cacheScope: 'private',
      _meta: { [serverInfo]: { name: 'troupe' } }
    });
  });

  test('a tool is called, its agent waited for, and its output read as a resource', async () => {
    const spawned = await client.call('spawn_rehearsal', { prompt: 'say hi' });
    const { agent_id } = spawned;
    const waiting = await client.ask('tools/call', {
      name: 'wait_for_agents',
      arguments: { agent_ids: [agent_id] }
    });
    expect(waiting.result).toMatchObject({
      resultType: 'complete',
      structuredContent: { status: 'all_completed' },
      content: [{ type: 'text' }]
    });
    const uri = `troupe://agents/${agent_id}/output`;
    const { result } = await client.ask('resources/read', { uri });
    expect(result).toMatchObject({ resultType: 'complete', ttlMs: 0 });
    expect(JSON.stringify(result)).toContain('hi');
  });

  test('a prompt is got, and its argument completed', async () => {
    const got = await client.ask('prompts/get', {
      name: 'delegate',
      arguments: { task: 'Fix it' }
    });
    expect(got.result).toMatchObject({ resultType: 'complete' });
    expect(JSON.stringify(got.result)).toContain('Fix it');
    const ref = { type: 'ref/prompt', name: 'delegate' };
    const argument = { name: 'engine', value: 're' };
    const { result } = await client.ask('completion/complete', {
      ref,
      argument
    });
    expect(result).toMatchObject({
      resultType: 'complete',
      completion: { values: ['rehearsal'] }
    });
  });

  test('a failed call is an answer, and names what to do', async () => {
    const { result } = await client.ask('tools/call', {
      name: 'result',
      arguments: { agent_id: 7 }
    });
    expect(result).toMatchObject({
      resultType: 'complete',
      isError: true,
      structuredContent: { error_code: 'invalid_input' }
    });
  });

  test('an unknown resource has the code of this revision', async () => {
    const uri = 'troupe://agents/none/output';
    const { error } = await client.ask('resources/read', { uri });
    expect(error).toMatchObject({ code: -32602, data: { uri } });
  });

  test.each([
    'initialize',
    'ping',
    'logging/setLevel',
    'resources/subscribe',
    'tasks/list',
    'no/such'
  ])('%s is not found', async (method) => {
    const { error } = await client.ask(method, { uri: 'troupe://agents' });
    expect(error).toEqual({ code: -32601, message: 'Method not found' });
  });

  test.each(['protocolVersion', 'clientCapabilities'])(
    'one without %s is refused',
    async (field) => {
      const meta = metaWithout(field);
      const { error } = await client.ask('server/discover', {}, { meta });
      expect(error).toMatchObject({
        code: -32602,
        message: expect.stringContaining(field)
      });
    }
  );

  test('one without clientInfo is answered', async () => {
    const meta = metaWithout('clientInfo');
    const { result } = await client.ask('tools/list', {}, { meta });
    expect(result).toMatchObject({ resultType: 'complete' });
  });

  test('an unsupported revision gets the ones to choose from', async () => {
    for (const version of ['2027-01-01', '2025-11-25', 'latest']) {
      const { error } = await client.ask('tools/list', {}, { version });
      expect(error).toMatchObject({
        code: -32022,
        data: { supported: revisions, requested: version }
      });
    }
  });

  test('an id that is still in use is refused, and its first request goes on', async () => {
    const { agent_id } = await client.call('spawn_rehearsal', {
      prompt: 'sleep 1\nsay done'
    });
    const params = {
      name: 'wait_for_agents',
      arguments: { agent_ids: [agent_id] }
    };
    const id = client.begin('tools/call', params);
    client.begin('tools/list', {}, { id });
    const first = await client.answerTo(id);
    expect(first.error).toMatchObject({ code: -32600 });
    await expect
      .poll(
        () =>
          client
            .received()
            .filter((one) => one.id === id)
            .at(-1),
        {
          timeout: 10_000
        }
      )
      .toMatchObject({
        result: { structuredContent: { status: 'all_completed' } }
      });
  });
});

describe('initialize', () => {
  /** A server that speaks no revision yet. */
  const start = () =>
    startServer(workspace, { flags: ['--engines', 'rehearsal'], raw: true });
  const greeting = (protocolVersion: string) => ({
    protocolVersion,
    capabilities: {},
    clientInfo: { name: 'older', version: '1' }
  });

  test.each(['2025-06-18', '2025-11-25'])(
    'with %s is served as that revision has it',
    async (revision) => {
      const older = await start();
      const { protocolVersion, instructions } = await older.request(
        'initialize',
        greeting(revision)
      );
      expect(protocolVersion).toBe(revision);
      expect(instructions).toContain('spawn_rehearsal');
      older.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
      const list = await older.request('tools/list');
      expect(Object.keys(list)).toEqual(['tools']);
      const called = await older.request('tools/call', {
        name: 'list',
        arguments: {}
      });
      expect(called).not.toHaveProperty('resultType');
      expect(called).toMatchObject({ structuredContent: { running: [] } });
      expect((await older.close()).code).toBe(0);
    }
  );

  test('with an unsupported revision gets the latest one that has it', async () => {
    for (const revision of ['2027-01-01', modernRevision, '1999-01-01']) {
      const older = await start();
      const { protocolVersion } = await older.request(
        'initialize',
        greeting(revision)
      );
      expect(protocolVersion).toBe('2025-11-25');
      await older.close();
    }
  });

  test('after a probe for the later revision is served in the same process', async () => {
    const both = await start();
    const modern = new ModernClient(both);
    const probe = await modern.ask('server/discover');
    expect(probe.result).toMatchObject({ resultType: 'complete' });
    const { protocolVersion } = await both.request(
      'initialize',
      greeting('2025-11-25')
    );
    expect(protocolVersion).toBe('2025-11-25');
    const [older, later] = await Promise.all([
      both.call('list'),
      modern.call('list')
    ]);
    expect(older.data).toMatchObject({ running: [] });
    expect(later).toMatchObject({ running: [] });
    expect((await both.close()).code).toBe(0);
  });
});
