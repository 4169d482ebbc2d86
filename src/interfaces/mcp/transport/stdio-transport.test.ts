import { PassThrough, Writable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { beforeEach, expect, test } from 'vitest';
import { until } from '../../../../test/kit/judges/until.ts';
import { StdioTransport } from './stdio-transport.ts';

const megabyte = 1024 * 1024;

let input: PassThrough;
let output: PassThrough;
let transport: StdioTransport;
let received: JSONRPCMessage[];
let errors: Error[];

beforeEach(async () => {
  input = new PassThrough();
  output = new PassThrough();
  await begin(output);
});

async function begin(to: Writable): Promise<void> {
  received = [];
  errors = [];
  transport = new StdioTransport(input, to);
  transport.onmessage = (message) => received.push(message);
  transport.onerror = (error) => errors.push(error);
  await transport.start();
}

const ping = (id: number) => ({ jsonrpc: '2.0' as const, id, method: 'ping' });
const answerTo = (id: number | string, result = {}) => ({
  jsonrpc: '2.0' as const,
  id,
  result
});

/** The answers that were written so far. */
function answers(): unknown[] {
  const text = String(output.read() ?? '');
  return text.split('\n').flatMap((line) => (line ? [JSON.parse(line)] : []));
}

const seen = (count: number) =>
  until(`${count} messages`, () => received.length >= count);

/** A request of so many bytes. */
function requestOf(id: number, bytes: number): string {
  const empty = JSON.stringify({ ...ping(id), params: { x: '' } });
  const x = 'x'.repeat(bytes - empty.length);
  return JSON.stringify({ ...ping(id), params: { x } });
}

test('a message of 10 MB is read', async () => {
  input.write(`${requestOf(1, 10 * megabyte)}\n`);
  await seen(1);
  expect(received).toMatchObject([{ id: 1 }]);
  expect(answers()).toEqual([]);
});

test('a longer message is refused by its id, and the next one is read', async () => {
  input.write(`${requestOf(1, 10 * megabyte + 1)}\n`);
  input.write(`${JSON.stringify(ping(2))}\n`);
  await seen(1);
  expect(received).toMatchObject([{ id: 2 }]);
  expect(answers()).toEqual([
    {
      jsonrpc: '2.0',
      id: 1,
      error: {
        code: -32600,
        message: 'A message of more than 10 MB was not read.'
      }
    }
  ]);
});

test('a line that is not JSON is reported, has no answer, and ends nothing', async () => {
  input.write(`{\n  \n${JSON.stringify(ping(3))}\n`);
  await seen(1);
  expect(errors.map(({ message }) => message)).toEqual(['not JSON']);
  expect(answers()).toEqual([]);
});

test('a request that the protocol does not have is refused by its id', async () => {
  input.write('{"jsonrpc":"1.0","id":"a","method":"ping"}\n');
  input.write(`${JSON.stringify(ping(1))}\n`);
  await seen(1);
  expect(answers()).toMatchObject([{ id: 'a', error: { code: -32600 } }]);
});

test('work after an answer runs once, when that answer has been written', async () => {
  const done: string[] = [];
  for (const name of ['one', 'two'])
    transport.afterAnswer(1, () => done.push(name));
  transport.afterAnswer(2, () => done.push('other'));
  await transport.send({ jsonrpc: '2.0', method: 'note' });
  await transport.send(ping(1));
  await nextTurn();
  expect(done).toEqual([]);
  await transport.send(answerTo(1));
  await transport.send(answerTo(1));
  await until('the work', () => done.length > 1);
  await nextTurn();
  expect(done).toEqual(['one', 'two']);
});

test('work after an answer never runs if the write fails', async () => {
  const broken = new Writable({
    write: (_chunk, _encoding, called) => called(new Error('broken'))
  });
  const failed = new Promise((resolve) => broken.once('error', resolve));
  await begin(broken);
  let isDone = false;
  transport.afterAnswer(1, () => {
    isDone = true;
  });
  void transport.send(answerTo(1));
  await failed;
  await nextTurn();
  expect(isDone).toBe(false);
});

test('nothing is read while more than 16 MB are unsent', async () => {
  const x = 'x'.repeat(megabyte);
  for (let count = 0; count < 16; count += 1)
    void transport.send(answerTo(count, { x: x.slice(100) }));
  input.write(`${JSON.stringify(ping(1))}\n`);
  await seen(1);
  void transport.send(answerTo(17, { x }));
  void transport.send(answerTo(18, { x }));
  expect(input.isPaused()).toBe(true);
  input.write(`${JSON.stringify(ping(2))}\n`);
  await nextTurn();
  expect(received).toHaveLength(1);
  output.resume();
  await seen(2);
  expect(input.isPaused()).toBe(false);
});

test('a sender waits until the output takes more', async () => {
  let isSent = false;
  const sent = transport
    .send(answerTo(1, { x: 'x'.repeat(megabyte) }))
    .then(() => {
      isSent = true;
    });
  await nextTurn();
  expect(isSent).toBe(false);
  output.resume();
  await sent;
});

test('after its close nothing is read', async () => {
  let isClosed = false;
  transport.onclose = () => {
    isClosed = true;
  };
  await transport.close();
  expect(isClosed).toBe(true);
  input.write(`${JSON.stringify(ping(1))}\n`);
  input.resume();
  await nextTurn();
  expect(received).toEqual([]);
});
