import { once } from 'node:events';
import { createServer, type Server as HttpServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { promisify } from 'node:util';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { until } from '../../../test/kit/judges/until.ts';
import {
  ask,
  initialize,
  message,
  type RawRequest
} from '../../../test/kit/servers/raw-http.ts';
import { Connections } from './connections.ts';
import { loopbackNames } from './guard.ts';
import { ModernHttp } from './modern-http.ts';
import { router } from './router.ts';
import { Sessions } from './sessions.ts';

const token = 'the-token-of-the-test';
const bodyBytes = 1000;

let server: HttpServer;
let ending: AbortController;
let fault: Error | undefined;

/** Serves a protocol server that has no tools. */
async function start({ maxSessions = 9, maxAuthenticated = 99 } = {}) {
  fault = undefined;
  ending = new AbortController();
  const life = { ending: ending.signal, track: <T>(call: T) => call };
  const sessions = new Sessions({
    life,
    maxSessions,
    idleMs: 600_000,
    capabilities: {},
    serve: async (_, transport) => {
      if (fault) throw fault;
      const protocol = new Server(
        { name: 'test', version: '1' },
        { capabilities: {} }
      );
      await protocol.connect(transport);
      return protocol;
    }
  });
  const connections = new Connections({
    maxUnauthenticated: 99,
    maxAuthenticated
  });
  const route = router({
    guard: {
      hosts: new Set(loopbackNames),
      origins: new Set(),
      isToken: (header) => header === `Bearer ${token}`
    },
    life,
    connections,
    sessions,
    modern: new ModernHttp({
      instructions: 'Test it.',
      capabilities: {},
      sessions,
      life,
      tools: []
    }),
    bodyBytes
  });
  server = createServer((request, response) => void route(request, response));
  server.on('checkContinue', (request, response) =>
    route(request, response).catch(() => undefined)
  );
  server.on('connection', (socket) => connections.add(socket));
  // Only the server itself closes a connection.
  server.keepAliveTimeout = 0;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    await sessions.close();
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
}

function port(): number {
  const { port } = server.address() as AddressInfo;
  return port;
}

const send = (options: RawRequest) => ask({ port: port(), token }, options);

/** The status, and the code of the error. */
async function answerTo(options: RawRequest): Promise<[number, unknown]> {
  const { status, text } = await send(options);
  return [status, Object(JSON.parse(text)).error.code];
}

async function open(version = '2025-11-25'): Promise<string> {
  const body = initialize.replace('2025-11-25', version);
  const { headers } = await send({ body });
  return String(headers['mcp-session-id']);
}

describe('a server', () => {
  beforeEach(() => start());

  test('opens a session for initialize, and serves it by its id', async () => {
    const id = await open();
    const headers = { 'mcp-session-id': id };
    const { status, text } = await send({ headers, body: message('ping') });
    expect([status, text]).toEqual([200, expect.stringContaining('"result"')]);
  });

  test('refuses a request without the token', async () => {
    const headers = { authorization: undefined };
    expect(await answerTo({ headers, body: initialize })).toEqual([
      401, -32000
    ]);
  });

  test.each(['text/plain', 'application/jsonp', undefined])(
    'refuses a body of the type %s before it is read',
    async (type) => {
      const headers = { 'content-type': type };
      expect(await answerTo({ headers, body: '{' })).toEqual([415, -32000]);
    }
  );

  test('takes JSON with a character set', async () => {
    const headers = { 'content-type': 'application/json; charset=utf-8' };
    expect((await send({ headers, body: initialize })).status).toBe(200);
  });

  test.each(['', '{', 'x'])(
    'refuses the body "%s" as no JSON',
    async (body) => {
      expect(await answerTo({ body })).toEqual([400, -32700]);
    }
  );

  test('reads a body at the limit, and refuses one byte more', async () => {
    const body = message('ping').padEnd(bodyBytes);
    expect(await answerTo({ body })).toEqual([400, -32000]);
    expect(await answerTo({ body: `${body} ` })).toEqual([413, -32000]);
  });

  test('refuses a body without a length that grows beyond the limit', async () => {
    const headers = {
      'content-length': undefined,
      'transfer-encoding': 'chunked'
    };
    const body = message('ping').padEnd(bodyBytes);
    expect(await answerTo({ headers, body })).toEqual([400, -32000]);
    const long = await answerTo({ headers, body: `${body} ` });
    expect(long).toEqual([413, -32000]);
  });

  test('closes the connection of a client that goes on with a body that is too long', async () => {
    const client = connect(port(), '127.0.0.1');
    client.on('error', () => undefined);
    let heard = '';
    client.on('data', (chunk) => {
      heard += String(chunk);
    });
    client.write(rawHead(['Content-Length: 1001']));
    await until('the refusal', () => heard.includes('HTTP/1.1 413'));
    await once(client, 'close');
  });

  test.each([
    [['Content-Length: 1000', 'Expect: 100-continue'], '100 Continue'],
    [['Content-Length: 1001', 'Expect: 100-continue'], '413'],
    [['Content-Length: 0'], '400']
  ])('answers the head %j with %s first', async (lines, status) => {
    const client = connect(port(), '127.0.0.1');
    onTestFinished(() => void client.destroy());
    client.on('error', () => undefined).write(rawHead(lines));
    const [chunk] = await once(client, 'data');
    expect(String(chunk).split('\r\n')[0]).toContain(status);
  });

  test('refuses a message of no session, or of an unknown one', async () => {
    const body = message('ping');
    expect(await answerTo({ body })).toEqual([400, -32000]);
    const headers = { 'mcp-session-id': 'unknown' };
    for (const method of ['GET', 'POST', 'DELETE']) {
      const answer = await answerTo({ headers, body, method });
      expect(answer).toEqual([404, -32001]);
    }
    expect(await answerTo({ method: 'GET' })).toEqual([400, -32000]);
  });

  test('tells a client of a later protocol that its method does not exist', async () => {
    const { status, text } = await send({
      body: message('later/hello', {}, 7)
    });
    expect(status).toBe(200);
    expect(JSON.parse(text)).toEqual({
      jsonrpc: '2.0',
      error: { code: -32601, message: 'Method not found' },
      id: 7
    });
    const note = JSON.stringify({ jsonrpc: '2.0', method: 'later/hello' });
    expect(await answerTo({ body: note })).toEqual([400, -32000]);
  });

  test.each([
    ['2025-03-26', 200],
    ['2025-06-18', 400],
    ['2025-11-25', 400],
    ['1999-01-01', 400]
  ])('answers a batch in a session of %s with %i', async (version, status) => {
    const headers = { 'mcp-session-id': await open(version) };
    const body = `[${message('ping')}]`;
    expect((await send({ headers, body })).status).toBe(status);
  });

  test('refuses two requests of one id at a time', async () => {
    const headers = { 'mcp-session-id': await open('2025-03-26') };
    const body = `[${message('ping')},${message('ping')}]`;
    expect(await answerTo({ headers, body })).toEqual([400, -32600]);
  });

  test('refuses every request while it ends', async () => {
    const id = await open();
    ending.abort();
    const headers = { 'mcp-session-id': id };
    for (const method of ['GET', 'POST', 'DELETE']) {
      const answer = await send({ headers, body: message('ping'), method });
      expect(answer.status).toBe(503);
      expect(answer.headers.connection).toBe('close');
      expect(answer.text).toContain('The server is ending.');
    }
  });

  test('answers a fault of its own without its text, and goes on', async () => {
    fault = new Error('the secret of the fault');
    const { status, text } = await send({ body: initialize });
    expect([status, text]).toEqual([500, expect.stringContaining('-32603')]);
    expect(text).not.toContain('secret');
    fault = undefined;
    expect(await open()).toMatch(/^[0-9a-f-]{36}$/);
  });
});

describe('the limit of sessions', () => {
  test('refuses one more, with the time after which one may be free', async () => {
    await start({ maxSessions: 2 });
    const [first] = [await open(), await open()];
    const refused = await send({ body: initialize });
    expect(refused.status).toBe(503);
    expect(refused.headers['retry-after']).toMatch(/^(59|60)$/);
    expect(refused.text).toContain('http.sessions');
    const headers = { 'mcp-session-id': first };
    await send({ headers, method: 'DELETE' });
    expect(await open()).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('does not count a session whose opening failed', async () => {
    await start({ maxSessions: 1 });
    fault = new Error('fault');
    expect((await send({ body: initialize })).status).toBe(500);
    fault = undefined;
    // A message that the transport of the protocol refuses.
    const headers = { accept: 'text/html' };
    expect((await send({ headers, body: initialize })).status).toBe(406);
    expect(await open()).toMatch(/^[0-9a-f-]{36}$/);
  });
});

test('the limit of connections with the token refuses one more, and says when to come back', async () => {
  await start({ maxAuthenticated: 1 });
  const headers = { 'mcp-session-id': await open() };
  const connectionsOf = promisify(server.getConnections.bind(server));
  await until('it to close', async () => (await connectionsOf()) === 0);
  const client = connect(port(), '127.0.0.1');
  onTestFinished(() => void client.destroy());
  client.write(rawHead(['Content-Length: 0']));
  await once(client, 'data');
  const refused = await send({ headers, body: message('ping') });
  expect(refused.status).toBe(503);
  expect(refused.headers).toMatchObject({
    connection: 'close',
    'retry-after': '1'
  });
});

function rawHead(lines: string[]): string {
  const usual = [
    'POST /mcp HTTP/1.1',
    'Host: localhost',
    `Authorization: Bearer ${token}`,
    'Content-Type: application/json'
  ];
  return `${[...usual, ...lines].join('\r\n')}\r\n\r\n`;
}
