import { once } from 'node:events';
import { createServer, type Server as HttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import {
  CallToolRequestSchema,
  type CallToolResult
} from '@modelcontextprotocol/sdk/types.js';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import {
  ask,
  initialize,
  message,
  type RawAnswer
} from '../../../test/kit/servers/raw-http.ts';
import { refuse } from './message.ts';
import type { Session } from './session.ts';
import { Sessions } from './sessions.ts';

let server: HttpServer;
let ending: AbortController;
let sessions: Sessions;
/** In the order of their opening. */
let opened: Session[];
/** Answers the calls that are at work, and all later ones. */
let answerCalls: () => void;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] });
});

afterEach(async () => {
  vi.useRealTimers();
  answerCalls();
  await sessions.close();
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

/** Serves one slow tool to sessions, without a token. */
async function start({ maxSessions = 9, idleMs = 600_000 } = {}) {
  opened = [];
  ending = new AbortController();
  const answer = new Promise<CallToolResult>((resolve) => {
    answerCalls = () => resolve({ content: [] });
  });
  sessions = new Sessions({
    life: { ending: ending.signal, track: (call) => call },
    maxSessions,
    idleMs,
    capabilities: {},
    serve: async (session, transport) => {
      opened.push(session);
      const protocol = new Server(
        { name: 'test', version: '1' },
        { capabilities: { tools: {} } }
      );
      protocol.setRequestHandler(CallToolRequestSchema, () =>
        session.life.track(answer)
      );
      await protocol.connect(transport);
      return protocol;
    }
  });
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = String(Buffer.concat(chunks));
      const body = text === '' ? undefined : JSON.parse(text);
      const id = request.headers['mcp-session-id'];
      const session = sessions.find(String(id));
      if (session)
        void session.handle(request, response, body).then((refused) => {
          if (refused) refuse(response, refused);
        });
      else void sessions.open(request, response, body);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
}

/** The first session that was opened, and so on. */
function session(number: number): Session {
  const found = opened[number - 1];
  if (!found) throw new Error(`no session ${number}`);
  return found;
}

function send(
  id: string | undefined,
  body: string,
  method = 'POST'
): Promise<RawAnswer> {
  const { port } = server.address() as AddressInfo;
  const headers = { 'mcp-session-id': id };
  return ask({ port, token: '' }, { headers, body, method });
}

/** Opens a session that is idle afterwards; returns its id. */
async function open(client = 'raw'): Promise<string> {
  const body = initialize.replace('"raw"', JSON.stringify(client));
  const { headers } = await send(undefined, body);
  const id = String(headers['mcp-session-id']);
  await atRest(session(opened.length));
  return id;
}

/** A session is idle at a moment that the clock can pass. */
async function atRest(one: Session): Promise<void> {
  await vi.waitFor(
    () => {
      vi.advanceTimersByTime(1);
      expect(one.idleForMs).toBeGreaterThan(0);
    },
    { timeout: 10_000, interval: 1 }
  );
}

const call = message('tools/call', { name: 'slow' }, 'call');

/** Begins a call that lasts until the calls are answered. */
async function callIn(
  id: string,
  number: number
): Promise<() => Promise<void>> {
  const answer = send(id, call);
  answer.catch(() => undefined);
  await untilReal(() => session(number).idleForMs === 0);
  return async () => {
    answerCalls();
    await answer.catch(() => undefined);
    await atRest(session(number));
  };
}

function untilReal(look: () => boolean): Promise<unknown> {
  return vi.waitFor(() => expect(look()).toBe(true), { timeout: 10_000 });
}

test('an idle session ends after the idle limit, and not before', async () => {
  await start({ idleMs: 1000 });
  const id = await open();
  vi.advanceTimersByTime(900);
  expect(sessions.find(id)).toBeDefined();
  expect(session(1).ended.aborted).toBe(false);
  vi.advanceTimersByTime(101);
  expect(sessions.find(id)).toBeUndefined();
  expect(session(1).ended.aborted).toBe(true);
  expect(session(1).life.ending.aborted).toBe(true);
});

test('each request starts the idle limit again', async () => {
  await start({ idleMs: 1000 });
  const id = await open();
  for (let round = 0; round < 3; round += 1) {
    vi.advanceTimersByTime(900);
    await send(id, message('ping'));
    await atRest(session(1));
  }
  expect(sessions.find(id)).toBeDefined();
});

test('a session is not idle while a call lasts', async () => {
  await start({ idleMs: 1000, maxSessions: 1 });
  const id = await open();
  const end = await callIn(id, 1);
  await send(id, message('ping'));
  vi.advanceTimersByTime(5000);
  expect(session(1).idleForMs).toBe(0);
  expect(sessions.find(id)).toBeDefined();
  expect(sessions.makeRoom()).toBe(false);
  await end();
  vi.advanceTimersByTime(1001);
  expect(sessions.find(id)).toBeUndefined();
});

test('a session is not idle while a call goes on whose connection was cut', async () => {
  await start({ idleMs: 1000 });
  const id = await open();
  const end = await callIn(id, 1);
  server.closeAllConnections();
  // This request begins after the server has noticed the cut.
  await send(id, message('ping'));
  vi.advanceTimersByTime(5000);
  expect(sessions.find(id)).toBeDefined();
  await end();
  vi.advanceTimersByTime(1001);
  expect(sessions.find(id)).toBeUndefined();
});

test('a session is not idle while its client has an open stream', async () => {
  await start({ idleMs: 1000 });
  const id = await open();
  const stream = send(id, '', 'GET');
  stream.catch(() => undefined);
  await untilReal(() => session(1).idleForMs === 0);
  vi.advanceTimersByTime(5000);
  expect(sessions.find(id)).toBeDefined();
  server.closeAllConnections();
  await stream.catch(() => undefined);
  await atRest(session(1));
  vi.advanceTimersByTime(1001);
  expect(sessions.find(id)).toBeUndefined();
});

test('DELETE ends a session and frees its slot', async () => {
  await start({ maxSessions: 1 });
  const id = await open();
  expect(sessions.makeRoom()).toBe(false);
  await send(id, '', 'DELETE');
  expect(session(1).ended.aborted).toBe(true);
  expect(sessions.find(id)).toBeUndefined();
  expect(sessions.makeRoom()).toBe(true);
});

test('the session that was idle longest makes room after a minute', async () => {
  await start({ maxSessions: 2 });
  const first = await open();
  vi.advanceTimersByTime(30_000);
  const second = await open();
  vi.advanceTimersByTime(29_000);
  expect(sessions.makeRoom()).toBe(false);
  expect(sessions.retrySeconds).toBe(1);
  vi.advanceTimersByTime(1000);
  expect(sessions.makeRoom()).toBe(true);
  expect(sessions.find(first)).toBeUndefined();
  expect(sessions.find(second)).toBeDefined();
  expect(sessions.makeRoom()).toBe(true);
  expect(sessions.find(second)).toBeDefined();
});

test('a session makes room after half the idle limit if that is short', async () => {
  await start({ maxSessions: 1, idleMs: 20_000 });
  await open();
  vi.advanceTimersByTime(4000);
  expect(sessions.makeRoom()).toBe(false);
  expect(sessions.retrySeconds).toBeGreaterThanOrEqual(5);
  expect(sessions.retrySeconds).toBeLessThanOrEqual(6);
  vi.advanceTimersByTime(6000);
  expect(sessions.makeRoom()).toBe(true);
});

test('without an idle session the whole grace period is left', async () => {
  await start({ maxSessions: 1 });
  expect(sessions.retrySeconds).toBe(60);
});

test('a name in the council stays with another client, however long that is idle', async () => {
  await start();
  await open('ann');
  await open('bob');
  vi.advanceTimersByTime(100_000);
  expect(sessions.keepsNames('1', session(2))).toBe(true);
});

test('a name in the council goes to the same client once the old session was idle for 5 seconds', async () => {
  await start();
  await open('ann');
  const idleBefore = session(1).idleForMs;
  vi.advanceTimersByTime(4900 - idleBefore);
  await open('ann');
  vi.advanceTimersByTime(Math.max(0, 4999 - session(1).idleForMs));
  if (session(1).idleForMs < 5000)
    expect(sessions.keepsNames('1', session(2))).toBe(true);
  vi.advanceTimersByTime(5000);
  expect(sessions.keepsNames('1', session(2))).toBe(false);
});

test('an unknown session keeps no name', async () => {
  await start();
  await open();
  expect(sessions.keepsNames('7', session(1))).toBe(false);
});

test('a client counts as connected within the grace period only', async () => {
  await start({ maxSessions: 2 });
  const id = await open();
  expect(sessions.hasClient('1')).toBe(true);
  expect(sessions.hasClient('2')).toBe(false);
  vi.advanceTimersByTime(60_000);
  expect(sessions.hasClient('1')).toBe(false);
  await send(id, message('ping'));
  await atRest(session(1));
  expect(sessions.hasClient('1')).toBe(true);
});

test('the end of the server ends the waits of every session, and their answers are still sent', async () => {
  await start();
  const id = await open();
  await open();
  const end = await callIn(id, 1);
  ending.abort();
  expect(opened.map(({ life }) => life.ending.aborted)).toEqual([true, true]);
  expect(session(1).ended.aborted).toBe(false);
  await end();
  await sessions.close();
  expect(opened.map(({ ended }) => ended.aborted)).toEqual([true, true]);
});

test('sessions have names in the order of their opening', async () => {
  await start();
  await open('ann');
  await open('bob');
  expect(opened.map(({ name, clientName }) => [name, clientName])).toEqual([
    ['1', 'ann'],
    ['2', 'bob']
  ]);
});
