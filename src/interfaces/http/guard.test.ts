import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Guard, loopbackNames, refusalOf } from './guard.ts';
import type { Refusal } from './message.ts';

const token = 'Bearer right';

const guard: Guard = {
  hosts: new Set([...loopbackNames, 'agents.example']),
  origins: new Set(['https://board.example']),
  isToken: (header) => header === token
};

let server: Server;
let seen: Refusal | undefined;

beforeAll(async () => {
  server = createServer((request, response) => {
    seen = refusalOf(request, guard);
    response.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});

afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

/** Sends header lines as they stand; the last of a name is not preferred. */
async function refusalFor(
  lines: string[],
  start = 'POST /mcp'
): Promise<Refusal | undefined> {
  const { port } = server.address() as AddressInfo;
  const client = connect(port, '127.0.0.1');
  const head = [`${start} HTTP/1.1`, ...lines, 'Connection: close'];
  client.resume().write(`${head.join('\r\n')}\r\n\r\n`);
  await once(client, 'close');
  return seen;
}

const local = 'Host: localhost:8377';
const right = `Authorization: ${token}`;

describe('the Host header', () => {
  test.each([
    ['localhost'],
    ['LocalHost:8377'],
    ['127.0.0.1:8377'],
    ['[::1]:8377'],
    ['Agents.Example:443']
  ])('%s is allowed', async (host) => {
    expect(await refusalFor([`Host: ${host}`, right])).toBeUndefined();
  });

  test.each([
    ['evil.example'],
    ['localhost.evil.example'],
    ['evil.localhost'],
    ['localhost:8377:80'],
    ['localhost:123456'],
    ['localhost@evil.example'],
    ['localhost/evil'],
    ['::1'],
    ['']
  ])('"%s" is refused before all else', async (host) => {
    const found = await refusalFor([`Host: ${host}`], 'PUT /elsewhere');
    expect(found).toMatchObject({ status: 403 });
    expect(found?.message).toMatch(/this Host .*--allow-host/);
  });

  test('is allowed only once in a request', async () => {
    const found = await refusalFor([local, 'Host: evil.example', right]);
    expect(found).toMatchObject({ status: 403 });
  });
});

describe('the Origin header', () => {
  test.each([
    ['http://localhost:8377'],
    ['https://localhost:8377'],
    ['HTTPS://Board.Example']
  ])('%s is allowed', async (origin) => {
    const lines = [local, right, `Origin: ${origin}`];
    expect(await refusalFor(lines)).toBeUndefined();
  });

  test.each([
    ['http://evil.example'],
    ['http://localhost'],
    ['http://localhost:8378'],
    ['ws://localhost:8377'],
    ['https://board.example:444'],
    ['https://board.example.evil.example'],
    ['null'],
    ['']
  ])('"%s" is refused before the path and the token', async (origin) => {
    const lines = [local, `Origin: ${origin}`];
    const found = await refusalFor(lines, 'POST /elsewhere');
    expect(found).toMatchObject({ status: 403 });
    expect(found?.message).toMatch(/this Origin .*--allow-origin/);
  });
});

test.each([
  ['POST /', 404],
  ['POST /mcp/', 404],
  ['POST /MCP', 404],
  ['GET /mcp?x=1', undefined],
  ['DELETE /mcp', undefined]
])('%s gives %s', async (start, status) => {
  expect((await refusalFor([local, right], start))?.status).toBe(status);
});

test('another method is refused with the list of those that are allowed', async () => {
  for (const method of ['PUT', 'OPTIONS', 'HEAD'])
    expect(await refusalFor([local, right], `${method} /mcp`)).toMatchObject({
      status: 405,
      headers: { Allow: 'GET, POST, DELETE' }
    });
});

test('a request without the right token is refused last', async () => {
  for (const lines of [[local], [local, 'Authorization: Bearer wrong']])
    expect(await refusalFor(lines)).toMatchObject({
      status: 401,
      headers: { 'WWW-Authenticate': 'Bearer realm="troupe"' }
    });
});
