import { createServer } from 'node:net';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { idOf, makeUp } from '../../../test/kit/agents/made-up-agents.ts';
import {
  type HostHere,
  hostHere
} from '../../../test/kit/servers/host-here.ts';
import type { RawRequest } from '../../../test/kit/servers/raw-http.ts';
import { askWeb, tokenFor } from '../../../test/kit/servers/web-server.ts';
import { readDoorFile, writeDoorFile } from './door-file.ts';
import { isWildcard, linkTo, serveWeb, type WebServer } from './serve-web.ts';

let here: HostHere;
let server: WebServer;
let ending: AbortController;
let port: number;

const id = idOf(0x11111111);

beforeEach(async () => {
  here = await hostHere();
  server = await start();
  port = portOf(server);
  makeUp(here.workspace.record, { agent_id: id, daysAgo: 1, isOpen: true });
});

async function start(
  address: { host?: string; port?: number } = {},
  allowedHosts: string[] = ['here.example']
): Promise<WebServer> {
  ending = new AbortController();
  const started = await serveWeb({
    host: here.host,
    address: { host: '127.0.0.1', port: undefined, ...address },
    allowedHosts,
    ending: ending.signal
  });
  onTestFinished(() => started.close().catch(() => undefined));
  return started;
}

function portOf(one: WebServer): number {
  return Number(new URL(one.link('look')).port);
}

const codeOf = (link: string) => new URL(link).hash.slice(1);

const signIn = (scope: 'look' | 'act') =>
  tokenFor({ port }, codeOf(server.link(scope)));

/** The status and the code of an answer. */
async function answerTo(
  path: string,
  request: RawRequest & { token?: string } = {}
): Promise<[number, string | undefined]> {
  const { status, text } = await askWeb({ port }, path, request);
  const isJson = text.startsWith('{');
  return [status, isJson ? JSON.parse(text).error?.code : undefined];
}

describe('a request', () => {
  test.each<[string, string, RawRequest, number, string | undefined]>([
    ['for the page', '/', {}, 200, undefined],
    ['for the head of the page', '/', { method: 'HEAD' }, 200, undefined],
    [
      'from another allowed name',
      '/',
      { headers: { host: 'HERE.example:1' } },
      200,
      undefined
    ],
    [
      'from a name that is not allowed',
      '/',
      { headers: { host: 'evil.example' } },
      403,
      'forbidden'
    ],
    [
      'from the page of another site',
      '/',
      { headers: { origin: 'http://evil.example' } },
      403,
      'forbidden'
    ],
    [
      'that another site sends',
      '/',
      { headers: { 'sec-fetch-site': 'cross-site' } },
      403,
      'forbidden'
    ],
    [
      'of the page itself',
      '/',
      { headers: { 'sec-fetch-site': 'same-origin' } },
      200,
      undefined
    ],
    [
      'that a person typed',
      '/',
      { headers: { 'sec-fetch-site': 'none' } },
      200,
      undefined
    ],
    [
      'by a link of another site',
      '/',
      {
        headers: {
          'sec-fetch-site': 'cross-site',
          'sec-fetch-mode': 'navigate'
        }
      },
      200,
      undefined
    ],
    [
      'by a form of another site',
      '/',
      {
        method: 'POST',
        headers: {
          'sec-fetch-site': 'cross-site',
          'sec-fetch-mode': 'navigate'
        }
      },
      403,
      'forbidden'
    ],
    [
      'that opens data as a page',
      '/web/about',
      { headers: { 'sec-fetch-mode': 'navigate' } },
      403,
      'forbidden'
    ],
    ['for no file of the page', '/no.js', {}, 404, 'not_found'],
    ['that posts to the page', '/', { method: 'POST' }, 404, 'not_found'],
    ['without a token', '/web/about', {}, 401, 'unauthorized'],
    ['that reads a login', '/web/login', {}, 405, 'wrong_method'],
    ['that reads a link', '/web/link', {}, 405, 'wrong_method']
  ])('%s is answered so', async (_, path, request, status, code) => {
    expect(await answerTo(path, request)).toEqual([status, code]);
  });

  test('with a token reaches the routes, and names what is wrong', async () => {
    const token = await signIn('look');
    const query = '/web/audit?before=9';
    expect(await answerTo('/web/about', { token })).toEqual([200, undefined]);
    expect(await answerTo(query, { token })).toEqual([200, undefined]);
    expect(await answerTo('/web/no', { token })).toEqual([404, 'not_found']);
    expect(await answerTo('/web/about', { token, body: '{}' })).toEqual([
      405,
      'wrong_method'
    ]);
    const cancel = { token, body: '{}' };
    expect(await answerTo(`/web/agents/${id}/cancel`, cancel)).toEqual([
      403,
      'look_only'
    ]);
  });

  test('with the scope to act may act', async () => {
    const token = await signIn('act');
    const path = `/web/agents/${id}/cancel`;
    const json = { token, body: '{}' };
    expect(await answerTo(path, json)).toEqual([200, undefined]);
    expect(await answerTo('/web/agents/0badbad0/cancel', json)).toEqual([
      404,
      'unknown_agent'
    ]);
    expect(await answerTo(path, { ...json, body: '{' })).toEqual([
      400,
      'not_json'
    ]);
    const headers = { 'content-type': 'text/plain' };
    expect(await answerTo(path, { ...json, headers })).toEqual([
      415,
      'wrong_type'
    ]);
    const typed = { 'content-type': 'application/json; charset=utf-8' };
    expect(await answerTo(path, { ...json, headers: typed })).toEqual([
      200,
      undefined
    ]);
    const long = {
      headers: { 'content-length': '8388609' },
      token,
      body: '{}'
    };
    expect((await answerTo(path, long))[0]).toBe(413);
  });

  test('is refused while the server ends', async () => {
    ending.abort();
    expect(await answerTo('/')).toEqual([503, 'ending']);
  });
});

describe('a login', () => {
  const body = (code: string) => ({ body: JSON.stringify({ code }) });

  test('takes a code once', async () => {
    const code = codeOf(server.link('look'));
    const { status, text } = await askWeb({ port }, '/web/login', body(code));
    expect([status, JSON.parse(text).scope]).toEqual([200, 'look']);
    const again = await answerTo('/web/login', body(code));
    expect(again).toEqual([401, 'code_spent']);
  });

  test('takes no other code, no other fields and no long body', async () => {
    expect((await answerTo('/web/login', body('x')))[0]).toBe(401);
    expect(await answerTo('/web/login', { body: '{}' })).toEqual([
      400,
      'invalid_input'
    ]);
    const long = { body: `{${' '.repeat(4096)}}` };
    expect((await answerTo('/web/login', long))[0]).toBe(413);
  });
});

describe('a new link', () => {
  const body = JSON.stringify({ scope: 'act' });

  test('takes the secret of the door file', async () => {
    const token = readDoorFile(here.host.paths.webDoor)?.secret ?? '';
    const { status, text } = await askWeb({ port }, '/web/link', {
      ...{ token, body }
    });
    expect(status).toBe(200);
    expect(await tokenFor({ port }, JSON.parse(text).code)).toMatch(/\w/);
    expect(await answerTo('/web/link', { token, body: '[' })).toEqual([
      400,
      'not_json'
    ]);
    const wrong = [token.slice(1), `${token.slice(1)}A`, await signIn('act')];
    for (const one of wrong)
      expect(await answerTo('/web/link', { token: one, body })).toEqual([
        401,
        'unauthorized'
      ]);
  });
});

describe('a server', () => {
  test('uses the port of one that was killed, or any other when that is in use', async () => {
    const path = here.host.paths.webDoor;
    const left = { v: 1 as const, host: '127.0.0.1', port };
    writeDoorFile(path, { ...left, secret: 's'.repeat(43) });
    await server.close();
    server = await start();
    expect(portOf(server)).toBe(port);
    expect(portOf(await start())).not.toBe(port);
  });

  test('does not start on a given port that is in use', async () => {
    await expect(start({ port })).rejects.toMatchObject({
      code: 'config_invalid',
      message: `Port ${port} of 127.0.0.1 is in use.`
    });
  });

  test('does not start on an address of another machine', async () => {
    await expect(start({ host: '192.0.2.1' })).rejects.toThrow(
      '192.0.2.1 cannot be listened on (EADDRNOTAVAIL).'
    );
    await expect(start({ host: '192.0.2.1', port: 9 })).rejects.toThrow(
      '192.0.2.1:9 cannot be'
    );
  });

  test('removes its door file, and answers no more', async () => {
    await server.close();
    expect(readDoorFile(here.host.paths.webDoor)).toBeUndefined();
    const free = createServer();
    await new Promise<void>((resolve) =>
      free.listen(port, '127.0.0.1', () => resolve())
    );
    free.close();
  });

  test('ends its streams when the program ends', async () => {
    const token = await signIn('look');
    const stream = askWeb({ port }, '/web/events?topics=board', { token });
    await answerTo('/');
    ending.abort();
    await server.close();
    expect((await stream).text).toMatch(/event: end\ndata: \{\}\n\n$/);
  });

  test('names an allowed host in its links when it listens everywhere', async () => {
    const everywhere = await start({ host: '0.0.0.0' });
    expect(everywhere.link('look')).toMatch(/^http:\/\/here\.example:\d+\/#/);
    const plain = await start({ host: '0.0.0.0' }, []);
    expect(plain.link('look')).toMatch(/^http:\/\/0\.0\.0\.0:\d+\/#/);
    expect(server.link('act')).toMatch(/^http:\/\/127\.0\.0\.1:/);
  });
});

test('an IPv6 address is in brackets in a link', () => {
  expect(linkTo({ host: '::1', port: 80 }, 'x')).toBe('http://[::1]:80/#x');
  expect(linkTo({ host: 'here', port: 80 }, 'x')).toBe('http://here:80/#x');
  expect([isWildcard('::'), isWildcard('0.0.0.0'), isWildcard('::1')]).toEqual([
    ...[true, true, false]
  ]);
});
