import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type StartedHttp, startHttp } from '../../kit/servers/http-server.ts';
import {
  ask,
  initialize,
  message,
  rawSession
} from '../../kit/servers/raw-http.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let server: StartedHttp;

beforeAll(async () => {
  workspace = createTempWorkspace();
  server = await startHttp(workspace);
});

afterAll(async () => {
  await server.end();
  workspace.remove();
});

const nowhere = '00000000-0000-0000-0000-000000000000';

describe('without a session', () => {
  test('initialize makes one', async () => {
    const { status, headers, text } = await ask(server, { body: initialize });
    expect(status).toBe(200);
    expect(headers['mcp-session-id']).toMatch(/^[0-9a-f-]{36}$/);
    expect(text).toContain('"protocolVersion":"2025-11-25"');
  });

  test.each(['tools/list', 'ping', 'tools/call', 'resources/read'])(
    '%s is a bad request',
    async (method) => {
      const { status, text } = await ask(server, { body: message(method) });
      expect(status).toBe(400);
      expect(text).toContain('Mcp-Session-Id');
    }
  );

  test('GET and DELETE are bad requests', async () => {
    for (const method of ['GET', 'DELETE'])
      expect((await ask(server, { method })).status).toBe(400);
  });

  test('what is not JSON, and no message, is a bad request', async () => {
    for (const body of ['', '{', 'null', '[]', '7', '{"method":7}', '[1]'])
      expect((await ask(server, { body })).status, body).toBe(400);
  });

  test('an initialize that is none leaves no session behind', async () => {
    for (const params of [{}, { protocolVersion: 7 }, null]) {
      const answer = await ask(server, { body: message('initialize', params) });
      expect(answer.status).toBe(400);
      expect(answer.headers['mcp-session-id']).toBeUndefined();
    }
  });
});

describe('with a session that there is not', () => {
  test.each(['POST', 'GET', 'DELETE'])('%s finds nothing', async (method) => {
    const headers = { 'mcp-session-id': nowhere };
    const body = method === 'POST' ? message('tools/list') : '';
    const { status, text } = await ask(server, { method, headers, body });
    expect(status).toBe(404);
    expect(text).toContain('-32001');
  });

  test('neither does initialize', async () => {
    const headers = { 'mcp-session-id': nowhere };
    expect((await ask(server, { headers, body: initialize })).status).toBe(404);
  });
});

describe('with a session', () => {
  let headers: Record<string, string>;

  beforeAll(async () => {
    headers = { 'mcp-session-id': await rawSession(server) };
  });

  test('a request is answered, and a notification taken', async () => {
    const list = await ask(server, { headers, body: message('tools/list') });
    expect(list.status).toBe(200);
    expect(list.text).toContain('spawn_rehearsal');
    const body = '{"jsonrpc":"2.0","method":"notifications/initialized"}';
    expect(await ask(server, { headers, body })).toMatchObject({
      status: 202,
      text: ''
    });
  });

  test('an unknown method is not found, and an unknown tool is named', async () => {
    const method = await ask(server, { headers, body: message('no/such') });
    expect(method.text).toContain('-32601');
    const body = message('tools/call', { name: 'nothing', arguments: {} });
    expect((await ask(server, { headers, body })).text).toContain(
      'unknown_tool'
    );
  });

  test('a second initialize is refused', async () => {
    expect((await ask(server, { headers, body: initialize })).status).toBe(400);
  });

  test('only JSON is taken, by a client that takes both answers', async () => {
    const body = message('tools/list');
    const status = async (more: Record<string, string | undefined>) =>
      (await ask(server, { headers: { ...headers, ...more }, body })).status;
    for (const type of ['text/plain', 'text/plain; a=application/json', ''])
      expect(await status({ 'content-type': type }), type).toBe(415);
    expect(await status({ 'content-type': undefined })).toBe(415);
    expect(
      await status({ 'content-type': 'application/json; charset=utf-8' })
    ).toBe(200);
    for (const accept of ['application/json', 'text/event-stream', '*/*'])
      expect(await status({ accept }), accept).toBe(406);
    const get = { method: 'GET', headers: { ...headers, accept: 'text/html' } };
    expect((await ask(server, get)).status).toBe(406);
  });

  test('a version of the protocol that there is not is refused', async () => {
    const status = async (version: string) =>
      (
        await ask(server, {
          headers: { ...headers, 'mcp-protocol-version': version },
          body: message('tools/list')
        })
      ).status;
    expect(await status('2025-11-25')).toBe(200);
    for (const version of ['1999-01-01', 'latest', '2026-07-28'])
      expect(await status(version), version).toBe(400);
  });

  test('a batch is taken where its revision has batches, and no other', async () => {
    const body = `[${message('ping', {}, 1)},${message('tools/list', {}, 2)}]`;
    // With the header that says a revision, and without it.
    const batches = async (version: string) => {
      const own = { 'mcp-session-id': await rawSession(server, version) };
      const named = { ...own, 'mcp-protocol-version': version };
      return [
        await ask(server, { headers: own, body }),
        await ask(server, { headers: named, body })
      ];
    };
    for (const version of ['2025-03-26', '2024-11-05'])
      for (const { status, text } of await batches(version)) {
        expect(status, version).toBe(200);
        expect(text).toContain('"id":1');
        expect(text).toContain('"id":2');
      }
    for (const version of ['2025-06-18', '2025-11-25'])
      for (const { status, text } of await batches(version)) {
        expect(status, version).toBe(400);
        expect(JSON.parse(text)).toMatchObject({ error: { code: -32600 } });
      }
    // A client that asks for an unknown revision gets the latest.
    const unknown = {
      'mcp-session-id': await rawSession(server, '2020-01-01')
    };
    expect((await ask(server, { headers: unknown, body })).status).toBe(400);
    const early = {
      'mcp-session-id': await rawSession(server, '2025-03-26')
    };
    const many = `[${Array(101).fill(message('ping')).join(',')}]`;
    const refused = await ask(server, { headers: early, body: many });
    expect(refused.status).toBe(400);
  });

  test('DELETE ends it, once', async () => {
    const id = await rawSession(server);
    const own = { 'mcp-session-id': id };
    const end = () => ask(server, { method: 'DELETE', headers: own });
    expect((await end()).status).toBe(200);
    expect((await end()).status).toBe(404);
    const after = { headers: own, body: message('tools/list') };
    expect((await ask(server, after)).status).toBe(404);
    // The other one goes on.
    expect((await ask(server, { headers, body: message('ping') })).status).toBe(
      200
    );
  });
});

test('two initialize in one batch, or one next to another message, are refused', async () => {
  for (const body of [
    `[${initialize},${initialize}]`,
    `[${initialize},${message('tools/list')}]`
  ])
    expect((await ask(server, { body })).status).toBe(400);
});

test('nothing of all this was said on stdout, or twice on stderr', async () => {
  expect(server.command.stdout).toBe('');
  expect(server.command.stderr.trim().split('\n')).toHaveLength(3);
});
