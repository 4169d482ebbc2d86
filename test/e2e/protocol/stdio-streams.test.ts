import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../../kit/judges/until.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  ModernClient,
  serverInfo,
  subscriptionId
} from '../../kit/servers/modern-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let server: McpClient;
let client: ModernClient;

beforeEach(async () => {
  workspace = createTempWorkspace();
  server = await startServer(workspace, {
    flags: ['--engines', 'rehearsal'],
    raw: true
  });
  client = new ModernClient(server);
});

afterEach(async () => {
  expect((await server.close()).code).toBe(0);
  expect(server.impurities).toEqual([]);
  expect(server.stderr).not.toContain('bug');
  workspace.remove();
});

const listChanged = 'notifications/resources/list_changed';
const updated = 'notifications/resources/updated';

/** Waits for a change on a stream. */
function change(id: string, method: string) {
  return until(`${method} by ${id}`, () =>
    client.changes(id).find((one) => one.method === method)
  );
}

test('a wait reports progress with the token of its request, until it is answered', async () => {
  const { agent_id } = await client.call('spawn_rehearsal', {
    prompt: 'sleep 1\nsay hi'
  });
  const wait = {
    name: 'wait_for_agents',
    arguments: { agent_ids: [agent_id] }
  };
  const { result } = await client.ask('tools/call', wait, {
    meta: { progressToken: 'token-7' }
  });
  expect(result).toMatchObject({ resultType: 'complete' });
  const told = client
    .received()
    .filter(({ method }) => method === 'notifications/progress');
  expect(told.length).toBeGreaterThan(0);
  for (const { params } of told)
    expect(params).toMatchObject({ progressToken: 'token-7', total: 1 });
  const progress = told.map(({ params }) => Number(params?.progress));
  expect(progress).toEqual([...new Set(progress)].sort());
});

test.each([
  ['', false],
  [' by a notification that describes itself', true]
])(
  'a canceled wait is not answered, and its agent goes on%s',
  async (_, isModern) => {
    const { agent_id } = await client.call('spawn_rehearsal', {
      prompt: 'sleep 2\nsay hi'
    });
    const wait = {
      name: 'wait_for_agents',
      arguments: { agent_ids: [agent_id] }
    };
    const id = client.begin('tools/call', wait, { meta: { progressToken: 1 } });
    await until('progress', () =>
      client
        .received()
        .find(({ method }) => method === 'notifications/progress')
    );
    client.cancel(id, isModern);
    const again = await client.call('wait_for_agents', wait.arguments);
    expect(again).toMatchObject({
      status: 'all_completed',
      results: [{ agent_id, status: 'completed' }]
    });
    expect(client.received().filter((one) => one.id === id)).toEqual([]);
  }
);

test('a stream of changes is acknowledged first, with what it will report', async () => {
  const { agent_id } = await client.call('spawn_rehearsal', {
    prompt: 'say hi'
  });
  const uri = `troupe://agents/${agent_id}/output`;
  const acknowledged = await client.listen({
    toolsListChanged: true,
    promptsListChanged: true,
    resourcesListChanged: true,
    resourceSubscriptions: [uri, 'no://such']
  });
  // Prompts never change, and an unknown resource cannot.
  expect(acknowledged).toEqual({
    toolsListChanged: true,
    resourcesListChanged: true,
    resourceSubscriptions: [uri]
  });
  expect(client.changes('changes')[0]?.method).toBe(
    'notifications/subscriptions/acknowledged'
  );
});

test('each stream reports what it was opened for, until it is canceled', async () => {
  const { agent_id } = await client.call('spawn_rehearsal', {
    prompt: 'sleep 2\nsay hi'
  });
  const uri = `troupe://agents/${agent_id}/output`;
  await client.listen({ resourcesListChanged: true }, 'lists');
  await client.listen({ resourceSubscriptions: [uri] }, 'output');
  await client.listen({}, 'nothing');
  await client.call('spawn_rehearsal', { prompt: 'say hi' });
  expect(await change('lists', listChanged)).toMatchObject({
    params: { _meta: { [subscriptionId]: 'lists' } }
  });
  expect(await change('output', updated)).toMatchObject({ params: { uri } });
  const methods = (id: string) =>
    new Set(client.changes(id).map(({ method }) => method));
  const first = 'notifications/subscriptions/acknowledged';
  expect(methods('lists')).toEqual(new Set([first, listChanged]));
  expect(methods('output')).toEqual(new Set([first, updated]));
  expect(methods('nothing')).toEqual(new Set([first]));
  client.cancel('lists');
  await client.listen({ resourcesListChanged: true }, 'others');
  const before = client.changes('others').length;
  // Its answer comes after the cancellation has been read.
  await client.call('list');
  const told = client.changes('lists').length;
  await client.call('spawn_rehearsal', { prompt: 'say hi' });
  await until('a change', () => client.changes('others').length > before);
  expect(client.changes('lists')).toHaveLength(told);
});

test('a stream is told of a tool that comes later', async () => {
  await client.listen({ toolsListChanged: true });
  const names = async () => {
    const { result } = await client.ask('tools/list');
    const tools: { name: string }[] = Object(result).tools;
    return tools.map(({ name }) => name);
  };
  expect(await names()).not.toContain('answer_agent');
  const { agent_id } = await client.call('spawn_rehearsal', {
    prompt: 'permit npm test\nsay done',
    access: 'read',
    ask: 'coordinator'
  });
  const asked = await client.call('wait_for_agents', {
    agent_ids: [agent_id]
  });
  expect(asked).toMatchObject({ status: 'needs_answer' });
  await change('changes', 'notifications/tools/list_changed');
  expect(await names()).toContain('answer_agent');
  const [{ ask_id }] = asked.asks;
  const answered = { ask_id, decision: 'deny' };
  expect(await client.call('answer_agent', answered)).toMatchObject({
    status: 'answered'
  });
});

test('an ask is told once to a client, whatever it calls meanwhile', async () => {
  const { agent_id } = await client.call('spawn_rehearsal', {
    prompt: 'permit npm test\nsay done',
    access: 'read',
    ask: 'coordinator'
  });
  const ids = { agent_ids: [agent_id] };
  const first = await client.call('wait_for_agents', ids);
  expect(first).toMatchObject({ status: 'needs_answer' });
  const second = await client.call('wait_for_agents', { ...ids, timeout: 1 });
  expect(second).toMatchObject({ status: 'timeout' });
  const other = new ModernClient(server, 'another-client');
  expect(await other.call('wait_for_agents', ids)).toMatchObject({
    status: 'needs_answer'
  });
});

test('the end of the input answers open streams and waits', async () => {
  await client.listen({ resourcesListChanged: true });
  const { agent_id } = await client.call('spawn_rehearsal', {
    prompt: 'sleep 20'
  });
  const wait = {
    name: 'wait_for_agents',
    arguments: { agent_ids: [agent_id] }
  };
  const id = client.begin('tools/call', wait);
  // Read after the wait, and answered while it goes on.
  await client.call('list');
  await server.close();
  const last = client.received().find((one) => one.id === 'changes');
  expect(last?.result).toMatchObject({
    resultType: 'complete',
    _meta: { [subscriptionId]: 'changes', [serverInfo]: { name: 'troupe' } }
  });
  const waited = client.received().find((one) => one.id === id);
  expect(waited?.result).toMatchObject({
    structuredContent: { status: 'timeout' }
  });
});
