import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type StartedHttp, startHttp } from '../../kit/servers/http-server.ts';
import {
  ask,
  initialize,
  type RawAnswer,
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
  server = await startHttp(workspace, {
    flags: [
      ...['--allow-host', 'agents.example'],
      ...['--allow-origin', 'https://board.example']
    ]
  });
});

afterAll(async () => {
  await server.end();
  workspace.remove();
});

/** What a request with some other headers is answered. */
async function statusWith(
  headers: Record<string, string | undefined>
): Promise<number> {
  return (await ask(server, { headers, body: initialize })).status;
}

function withoutCors({ headers }: RawAnswer): void {
  const cors = Object.keys(headers).filter((name) =>
    name.startsWith('access-control')
  );
  expect(cors).toEqual([]);
}

describe('the token', () => {
  test.each([
    ['none', undefined],
    ['a wrong one', 'Bearer 0123456789abcdef0123456789abcdef'],
    ['an empty one', 'Bearer '],
    ['no bearer', 'Basic dXNlcjpwYXNzd29yZA==']
  ])('lets no client in with %s', async (_, authorization) => {
    const answer = await ask(server, {
      headers: { authorization },
      body: initialize
    });
    expect(answer.status).toBe(401);
    expect(answer.headers['www-authenticate']).toMatch(/^Bearer/);
    expect(answer.headers['mcp-session-id']).toBeUndefined();
    withoutCors(answer);
  });

  test('counts in its header alone, whole, and in no other case', async () => {
    const { token } = server;
    const path = `/mcp?token=${token}&access_token=${token}`;
    const headers = { authorization: undefined };
    expect((await ask(server, { path, headers })).status).toBe(401);
    for (const wrong of [token.slice(1), `${token}a`, token.toUpperCase()])
      expect(await statusWith({ authorization: `Bearer ${wrong}` })).toBe(401);
    expect(await statusWith({ authorization: `bearer ${token}` })).toBe(200);
  });

  test('is asked for with a session too', async () => {
    const headers = {
      authorization: undefined,
      'mcp-session-id': await rawSession(server)
    };
    for (const method of ['GET', 'POST', 'DELETE'])
      expect((await ask(server, { method, headers })).status).toBe(401);
  });
});

describe('a Host header', () => {
  test.each([
    'evil.example',
    'evil.example:8377',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    'evil.example@localhost',
    '0.0.0.0',
    '127.0.0.2',
    'localhost.',
    'localhost:80:80',
    '[::1'
  ])('such as %s is refused for every client', async (host) => {
    const answer = await ask(server, { headers: { host }, body: initialize });
    expect(answer.status).toBe(403);
    withoutCors(answer);
  });

  test.each([
    'localhost',
    'LocalHost:1234',
    '127.0.0.1',
    '[::1]:8377',
    'agents.example',
    'AGENTS.example:443'
  ])('such as %s is allowed', async (host) => {
    expect(await statusWith({ host })).toBe(200);
  });
});

/** What lines are answered that no library would send. */
function said(...lines: string[]): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(server.port, '127.0.0.1');
    socket.once('data', (data) => {
      resolve(String(data).split('\r\n')[0] ?? '');
      socket.destroy();
    });
    socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  });
}

test('no Host header, and more than one, are refused', async () => {
  const bearer = `Authorization: Bearer ${server.token}`;
  const [own, evil] = ['Host: localhost', 'Host: evil.example'];
  const post = 'POST /mcp HTTP/1.1';
  for (const hosts of [
    [own, evil],
    [evil, own]
  ])
    expect(await said(post, ...hosts, bearer)).toContain(' 403 ');
  expect(await said(post, bearer)).toContain(' 400 ');
  expect(await said('POST /mcp HTTP/1.0', bearer)).toContain(' 403 ');
  const elsewhere = 'POST http://evil.example/mcp HTTP/1.1';
  expect(await said(elsewhere, own, bearer)).toContain(' 404 ');
});

describe('an Origin header', () => {
  test.each([
    'null',
    'https://evil.example',
    'http://localhost:1',
    'http://localhost.evil.example',
    'https://board.example.evil.example',
    'http://board.example',
    ''
  ])('such as "%s" is refused, with the right token', async (origin) => {
    const answer = await ask(server, { headers: { origin }, body: initialize });
    expect(answer.status).toBe(403);
    withoutCors(answer);
  });

  test('of the server itself, and one that is allowed, is taken', async () => {
    const own = `localhost:${server.port}`;
    const headers = { host: own, origin: `http://${own}` };
    expect(await statusWith(headers)).toBe(200);
    const answer = await ask(server, {
      headers: { origin: 'https://Board.example' },
      body: initialize
    });
    expect(answer.status).toBe(200);
    withoutCors(answer);
  });

  test('is looked at before path, method and token', async () => {
    const headers = { origin: 'https://evil.example', authorization: '' };
    for (const method of ['OPTIONS', 'GET', 'PUT'])
      for (const path of ['/mcp', '/', '/elsewhere'])
        expect((await ask(server, { method, path, headers })).status).toBe(403);
  });
});

test('a page on a name that was pointed here gets nothing', async () => {
  const host = `evil.example:${server.port}`;
  const headers = { host, origin: `http://${host}` };
  for (const method of ['OPTIONS', 'POST', 'GET', 'DELETE']) {
    const answer = await ask(server, { method, headers, body: initialize });
    expect(answer.status).toBe(403);
    withoutCors(answer);
  }
});

test('other methods and other paths are refused', async () => {
  for (const method of ['OPTIONS', 'PUT', 'PATCH', 'HEAD', 'TRACE']) {
    const answer = await ask(server, { method });
    expect(answer.status, method).toBe(405);
    expect(answer.headers.allow).toBe('GET, POST, DELETE');
    withoutCors(answer);
  }
  for (const path of ['/', '/mcp/', '/mcp/x', '/sse', '//mcp', '/../mcp'])
    expect((await ask(server, { path })).status, path).toBe(404);
  const path = '/.well-known/oauth-protected-resource';
  const headers = { authorization: undefined };
  expect((await ask(server, { method: 'GET', path, headers })).status).toBe(
    404
  );
});

describe('a message that is too long', () => {
  const most = 4 * 1024 * 1024;

  test('is refused by its length before it is sent', async () => {
    const headers = { 'content-length': String(most + 1) };
    const socket = connect(server.port, '127.0.0.1');
    const answer = new Promise<string>((resolve) =>
      socket.once('data', (data) => resolve(String(data)))
    );
    socket.write(
      `POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer ${server.token}\r\nContent-Length: ${headers['content-length']}\r\n\r\n`
    );
    expect(await answer).toMatch(/^HTTP\/1\.1 413 /);
    socket.destroy();
  });

  test('is refused where it says nothing of its length', async () => {
    const { status, text } = await ask(server, {
      headers: { 'content-length': undefined, 'transfer-encoding': 'chunked' },
      body: ' '.repeat(most + 100_000)
    });
    expect(status).toBe(413);
    expect(text).toContain(`${most} bytes`);
  });

  test('is taken whole when it is just short enough', async () => {
    const { length } = initialize;
    const body = `${' '.repeat(most - length)}${initialize}`;
    expect((await ask(server, { body })).status).toBe(200);
  });
});

test('a client that asks before sending is told to continue, or why not', async () => {
  const expecting = { expect: '100-continue' };
  expect(await statusWith(expecting)).toBe(200);
  expect(await statusWith({ ...expecting, authorization: '' })).toBe(401);
});

test('headers that come one letter at a time are not waited for', async () => {
  const socket = connect(server.port, '127.0.0.1');
  const began = performance.now();
  let answer = '';
  socket.on('data', (data) => {
    answer += String(data);
  });
  socket.on('error', () => undefined);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  const letters = [...'POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Slow: '];
  const drip = setInterval(() => socket.write(letters.shift() ?? 'x'), 200);
  await closed;
  clearInterval(drip);
  const seconds = (performance.now() - began) / 1000;
  expect(answer).toMatch(/^HTTP\/1\.1 408 /);
  expect(seconds).toBeGreaterThan(9);
  expect(seconds).toBeLessThan(15);
});
