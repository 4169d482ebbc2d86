import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type StartedHttp, startHttp } from '../../kit/servers/http-server.ts';
import {
  eventsIn,
  type ModernMessage,
  type ModernOptions,
  messagesIn,
  metaWithout,
  modernPost,
  modernRevision,
  serverInfo,
  subscriptionId
} from '../../kit/servers/modern-client.ts';
import {
  ask,
  begin,
  message,
  rawClient,
  rawSession
} from '../../kit/servers/raw-http.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

const revisions = [
  modernRevision,
  ...['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '2024-10-07']
];

let workspace: TempWorkspace;
let server: StartedHttp;

beforeAll(async () => {
  workspace = createTempWorkspace();
  server = await startHttp(workspace);
});

afterAll(async () => {
  expect(await server.end()).toBe(0);
  expect(server.command.stderr).not.toContain('bug');
  workspace.remove();
});

type Post = Parameters<typeof modernPost>;

/** The status and the last message of the response. */
async function post(...[method, params, options, headers]: Post) {
  const request = modernPost(method, params, options, headers);
  const answer = await ask(server, request);
  const { status } = answer;
  const last: ModernMessage = messagesIn(answer).at(-1) ?? {};
  return { status, headers: answer.headers, ...last };
}

async function call(name: string, input = {}, options: ModernOptions = {}) {
  const params = { name, arguments: input };
  const { result } = await post('tools/call', params, options);
  return Object(result).structuredContent;
}

describe('a POST that describes itself', () => {
  test('is answered as JSON, without a session', async () => {
    const { status, headers, result } = await post('server/discover');
    expect(status).toBe(200);
    expect(headers['content-type']).toBe('application/json');
    expect(headers['mcp-session-id']).toBeUndefined();
    expect(result).toMatchObject({
      resultType: 'complete',
      supportedVersions: revisions,
      capabilities: { tools: { listChanged: true } },
      instructions: expect.stringContaining('spawn_rehearsal'),
      cacheScope: 'private',
      _meta: { [serverInfo]: { name: 'troupe' } }
    });
  });

  test('needs no greeting, and ignores the id of a session', async () => {
    const headers = { 'mcp-session-id': await rawSession(server) };
    for (const more of [{}, headers]) {
      const { status, result } = await post('tools/list', {}, {}, more);
      expect(status).toBe(200);
      expect(result).toMatchObject({ resultType: 'complete' });
    }
  });

  test('starts an agent, and another one waits for it with progress', async () => {
    const { agent_id } = await call('spawn_rehearsal', {
      prompt: 'sleep 1\nsay hi'
    });
    const wait = modernPost(
      'tools/call',
      { name: 'wait_for_agents', arguments: { agent_ids: [agent_id] } },
      { id: 'wait', meta: { progressToken: 'token-7' } }
    );
    const answer = await ask(server, wait);
    expect(answer.headers).toMatchObject({
      'content-type': 'text/event-stream',
      'x-accel-buffering': 'no'
    });
    const messages = messagesIn(answer);
    const last = messages.pop();
    expect(last).toMatchObject({
      id: 'wait',
      result: {
        resultType: 'complete',
        structuredContent: { status: 'all_completed' }
      }
    });
    expect(messages.length).toBeGreaterThan(0);
    for (const { method, params } of messages) {
      expect(method).toBe('notifications/progress');
      expect(params).toMatchObject({ progressToken: 'token-7' });
    }
  });

  test('of the same client finds its agents, and of another one does not', async () => {
    await call('spawn_rehearsal', { prompt: 'sleep 1' }, { client: 'one' });
    const of = (client: string) => call('wait_for_agents', {}, { client });
    const [mine, others] = await Promise.all([of('one'), of('two')]);
    expect(mine).toMatchObject({ status: 'all_completed' });
    expect(others).toMatchObject({ status: 'no_agents_running' });
  });

  test('is canceled by its end, and the agent goes on', async () => {
    const { agent_id } = await call('spawn_rehearsal', {
      prompt: 'sleep 2\nsay hi'
    });
    const params = {
      name: 'wait_for_agents',
      arguments: { agent_ids: [agent_id] }
    };
    const meta = { progressToken: 1 };
    const cut = begin(server, modernPost('tools/call', params, { meta }));
    await cut.says(/notifications\/progress/);
    await cut.cut();
    // An answer that was sent would be told as read already.
    expect(await call('wait_for_agents', params.arguments)).toMatchObject({
      status: 'all_completed',
      results: [{ agent_id, result: expect.stringContaining('hi') }]
    });
  });

  test('of a tool that there is not is answered, and of an unknown resource fails', async () => {
    const unknown = await post('tools/call', { name: 'nothing' });
    expect(unknown).toMatchObject({ status: 200, result: { isError: true } });
    const uri = 'troupe://agents/none/output';
    const { status, error } = await post('resources/read', { uri });
    expect(status).toBe(200);
    expect(error).toMatchObject({ code: -32602, data: { uri } });
  });

  test.each(['initialize', 'ping', 'resources/subscribe', 'no/such'])(
    '%s is not found',
    async (method) => {
      const { status, error, id } = await post(method, {}, { id: 'x' });
      expect({ status, id }).toEqual({ status: 404, id: 'x' });
      expect(error).toMatchObject({ code: -32601 });
    }
  );

  test.each(['protocolVersion', 'clientCapabilities'])(
    'without %s is a bad request',
    async (field) => {
      const meta = metaWithout(field);
      const { status, error } = await post('tools/list', {}, { meta });
      expect(status).toBe(400);
      expect(error).toMatchObject({
        code: -32602,
        message: expect.stringContaining(field)
      });
    }
  );

  test('without _meta is a bad request if a header names the revision', async () => {
    const headers = { 'mcp-protocol-version': modernRevision };
    const body = message('tools/list');
    const { status, text } = await ask(server, { headers, body });
    expect(status).toBe(400);
    expect(text).toContain('-32602');
  });

  test('of an unsupported revision gets the ones to choose from', async () => {
    for (const version of ['2027-01-01', '2025-11-25']) {
      const { status, error } = await post('tools/list', {}, { version });
      expect(status).toBe(400);
      expect(error).toMatchObject({
        code: -32022,
        data: { supported: revisions, requested: version }
      });
    }
  });

  test.each([
    ['no revision', { 'mcp-protocol-version': undefined }],
    ['another revision', { 'mcp-protocol-version': '2025-11-25' }],
    ['no method', { 'mcp-method': undefined }],
    ['another method', { 'mcp-method': 'tools/list' }],
    ['no name', { 'mcp-name': undefined }],
    ['another name', { 'mcp-name': 'result' }],
    ['a name that is not encoded as said', { 'mcp-name': '=?base64?bGlzd?=' }]
  ])('with %s in its headers is a mismatch', async (_, headers) => {
    const params = { name: 'list', arguments: {} };
    const { status, error } = await post('tools/call', params, {}, headers);
    expect(status).toBe(400);
    expect(error).toMatchObject({ code: -32020 });
  });

  test('may encode its name', async () => {
    const headers = { 'mcp-name': '=?base64?bGlzdA==?=' };
    const params = { name: 'list', arguments: {} };
    const { status } = await post('tools/call', params, {}, headers);
    expect(status).toBe(200);
  });

  test('needs the token, and takes both kinds of answers', async () => {
    const list = (headers: Record<string, string>) =>
      post('tools/list', {}, {}, headers);
    expect((await list({ authorization: 'Bearer wrong' })).status).toBe(401);
    expect((await list({ accept: 'application/json' })).status).toBe(406);
    expect((await list({ origin: 'https://evil.example' })).status).toBe(403);
  });

  test('with a notification is taken, and with something else is refused', async () => {
    const headers = { 'mcp-protocol-version': modernRevision };
    const status = async (body: string) =>
      (await ask(server, { headers, body })).status;
    const cancelled =
      '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}';
    expect(await status(cancelled)).toBe(202);
    for (const body of ['[]', '7', '{"jsonrpc":"2.0","id":1,"result":{}}'])
      expect(await status(body), body).toBe(400);
  });
});

describe('a stream of changes', () => {
  const filter = (notifications: Record<string, unknown>, id = 'changes') =>
    begin(
      server,
      modernPost('subscriptions/listen', { notifications }, { id })
    );

  test('reports what its client asked for, until it is closed', async () => {
    const { agent_id } = await call('spawn_rehearsal', {
      prompt: 'sleep 2\nsay hi'
    });
    const uri = `troupe://agents/${agent_id}/output`;
    const lists = filter({ resourcesListChanged: true }, 'lists');
    const output = filter({ resourceSubscriptions: [uri, 'no://such'] });
    await lists.says(/acknowledged/);
    await output.says(/acknowledged/);
    await call('spawn_rehearsal', { prompt: 'say hi' });
    await lists.says(/resources\/list_changed/);
    await output.says(/resources\/updated/);
    const [first, ...changes] = eventsIn(output.soFar());
    expect(first).toMatchObject({
      method: 'notifications/subscriptions/acknowledged',
      params: {
        notifications: { resourceSubscriptions: [uri] },
        _meta: { [subscriptionId]: 'changes' }
      }
    });
    for (const { method, params } of changes) {
      expect(method).toBe('notifications/resources/updated');
      expect(params).toMatchObject({
        uri,
        _meta: { [subscriptionId]: 'changes' }
      });
    }
    expect(lists.soFar()).not.toContain('resources/updated');
    await lists.cut();
    await output.cut();
  });

  test('ends with an answer when the server ends', async () => {
    const other = await startHttp(workspace);
    const listen = modernPost(
      'subscriptions/listen',
      { notifications: { resourcesListChanged: true } },
      { id: 'changes' }
    );
    const stream = begin(other, listen);
    await stream.says(/acknowledged/);
    const [code, answer] = await Promise.all([other.end(), stream.answer]);
    expect(code).toBe(0);
    expect(messagesIn(answer).at(-1)).toMatchObject({
      id: 'changes',
      result: {
        resultType: 'complete',
        _meta: { [subscriptionId]: 'changes' }
      }
    });
  });
});

test('clients of all revisions are served side by side', async () => {
  const [older, oldest] = await Promise.all([
    rawClient(server, '2025-11-25'),
    rawClient(server, '2025-06-18')
  ]);
  const lists = await Promise.all([
    older.call('list'),
    oldest.call('list'),
    call('list')
  ]);
  for (const list of lists)
    expect(list).toMatchObject({ running: expect.any(Array) });
});

test('clients of all revisions have names of their own in a council', async () => {
  const older = await rawClient(server);
  const alice = { agent_name: 'alice' };
  await call('start_council', { ...alice, request: 'Which?' }, { client: 'a' });
  const joined = JSON.stringify([
    await call('join_council', alice, { client: 'b' }),
    await older.call('join_council', alice),
    await call('join_council', alice, { client: 'a' })
  ]);
  expect(joined).toContain('alice#2');
  expect(joined).toContain('alice#3');
  expect(joined).not.toContain('alice#4');
});

test('clients beyond the number of sessions are refused while the others are active', async () => {
  const small = createTempWorkspace();
  small.write('.trouperc.json', '{ "http": { "sessions": 1 } }');
  const narrow = await startHttp(small);
  const list = (client: string) => modernPost('tools/list', {}, { client });
  const stream = begin(
    narrow,
    modernPost('subscriptions/listen', { notifications: {} }, { client: 'one' })
  );
  await stream.says(/acknowledged/);
  const full = await ask(narrow, list('two'));
  expect(full.status).toBe(503);
  expect(Number(full.headers['retry-after'])).toBeGreaterThan(0);
  expect((await ask(narrow, list('one'))).status).toBe(200);
  await stream.cut();
  expect(await narrow.end()).toBe(0);
  small.remove();
});
