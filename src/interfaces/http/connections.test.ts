import { Socket } from 'node:net';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Connections } from './connections.ts';

let connections: Connections;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
  connections = new Connections({ maxUnauthenticated: 2, maxAuthenticated: 2 });
});

afterEach(() => {
  vi.useRealTimers();
});

function open(count: number): Socket[] {
  return Array.from({ length: count }, () => {
    const socket = new Socket();
    connections.add(socket);
    return socket;
  });
}

const closed = (sockets: Socket[]) => sockets.map((one) => one.destroyed);

/** Waits for the `close` event of a socket that is destroyed. */
function gone(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.destroy().once('close', resolve));
}

test('up to twice the limit of young connections stay open without the token', () => {
  expect(closed(open(4))).toEqual([false, false, false, false]);
});

test('one connection more than twice the limit closes the oldest', () => {
  expect(closed(open(5))).toEqual([true, false, false, false, false]);
});

test('each connection above the limit closes the oldest once that is older than a second', () => {
  const first = open(2);
  vi.advanceTimersByTime(1000);
  const second = open(1);
  expect(closed([...first, ...second])).toEqual([false, false, false]);
  vi.advanceTimersByTime(1);
  const third = open(1);
  expect(closed([...first, ...second, ...third])).toEqual([
    ...[true, false],
    ...[false, false]
  ]);
});

test('old connections up to the limit stay open', () => {
  const first = open(1);
  vi.advanceTimersByTime(60_000);
  expect(closed([...first, ...open(1)])).toEqual([false, false]);
});

test('a connection with the token is never closed for a new one', () => {
  const [first, ...others] = open(2);
  expect(first && connections.admit(first)).toBe(true);
  vi.advanceTimersByTime(60_000);
  open(9);
  expect(first?.destroyed).toBe(false);
  expect(closed(others)).toEqual([true]);
});

test('the limit of connections with the token refuses another one until one closes', async () => {
  const [one, two, three] = open(3);
  if (!one || !two || !three) throw new Error('no connections');
  expect([one, two, three].map((each) => connections.admit(each))).toEqual([
    ...[true, true],
    false
  ]);
  expect(connections.admit(one)).toBe(true);
  await gone(two);
  expect(connections.admit(three)).toBe(true);
});

test('a connection that has closed counts no longer', async () => {
  const sockets = open(4);
  for (const socket of sockets.slice(2)) await gone(socket);
  expect(closed([...sockets.slice(0, 2), ...open(2)])).not.toContain(true);
});

test('the end of the server closes only connections without the token', () => {
  const [one, two] = open(2);
  if (one) connections.admit(one);
  connections.closeUnauthenticated();
  expect([one?.destroyed, two?.destroyed]).toEqual([false, true]);
});

test('a connection that was closed for a new one is not counted when it presents the token', () => {
  const [oldest, ...others] = open(5);
  if (!oldest) throw new Error('no connection');
  connections.admit(oldest);
  expect(others.slice(0, 2).map((one) => connections.admit(one))).toEqual([
    true,
    true
  ]);
});
