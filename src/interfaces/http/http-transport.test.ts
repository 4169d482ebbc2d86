import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../../../test/kit/judges/until.ts';
import { whenOver } from './http-transport.ts';

const rawRequest = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n';

let server: Server;
let client: Socket;
/** The responses, in the order of their requests. */
let responses: ServerResponse[];
/** The number of each response that is over, and whether it was sent. */
let ends: [number, boolean][];

beforeEach(async () => {
  responses = [];
  ends = [];
  server = createServer((request, response) => {
    const number = responses.push(response) - 1;
    whenOver(request, response, (wasSent) => ends.push([number, wasSent]));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  client = connect(port, '127.0.0.1');
  client.on('error', () => undefined);
});

afterEach(async () => {
  client.destroy();
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

async function sendRequests(count: number): Promise<ServerResponse[]> {
  client.write(rawRequest.repeat(count));
  await until('all requests', () => responses.length >= count);
  return responses;
}

const ended = (count: number) =>
  until(`${count} to end`, () => ends.length >= count);

/** More than the buffers of a connection hold. */
const much = 'x'.repeat(64 * 1024 * 1024);

test('responses that the client reads one after another count as sent', async () => {
  client.resume();
  for (const count of [1, 2]) {
    client.write(rawRequest);
    await until('the request', () => responses.length >= count);
    responses.at(-1)?.end('answer');
    await ended(count);
  }
  client.destroy();
  await once(client, 'close');
  expect(ends).toEqual([
    [0, true],
    [1, true]
  ]);
});

test('a response whose connection is cut halfway does not count as sent', async () => {
  const [response] = await sendRequests(1);
  response?.write('the beginning');
  await once(client, 'data');
  client.destroy();
  await ended(1);
  // A late answer changes nothing.
  response?.end('the end');
  await nextTurn();
  expect(ends).toEqual([[0, false]]);
});

test('a complete response that the client never reads does not count as sent', async () => {
  const [response] = await sendRequests(1);
  client.pause();
  response?.end(much);
  await nextTurn();
  client.resetAndDestroy();
  await ended(1);
  expect(ends).toEqual([[0, false]]);
});

test('a response in the queue of a closed connection does not count as sent', async () => {
  const [, second] = await sendRequests(2);
  second?.end('answer');
  await nextTurn();
  expect(ends).toEqual([]);
  client.destroy();
  await ended(2);
  expect(ends).toEqual([
    [0, false],
    [1, false]
  ]);
});

test('a response whose connection closed before the request was handled does not count as sent', async () => {
  const [first] = await sendRequests(1);
  client.destroy();
  await ended(1);
  if (first) whenOver(first.req, first, (sent) => ends.push([1, sent]));
  expect(ends).toHaveLength(1);
  await ended(2);
  expect(ends.at(-1)).toEqual([1, false]);
});
