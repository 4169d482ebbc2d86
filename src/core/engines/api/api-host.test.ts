import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../../../../test/kit/judges/until.ts';
import type { ApiEngine } from '../../../plugin/plugin.ts';
import { ApiHost } from './api-host.ts';
import type { ApiTask } from './api-task.ts';

type Generate = ApiEngine['generate'];

const task: ApiTask = {
  v: 1,
  engine: 'x',
  label: 'X',
  plugin: null,
  request: { prompt: 'Hi', model: 'm', turns: [], stream: true },
  idleTimeoutSeconds: 0,
  prices: {}
};

let directory: string;
let idles: number;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'troupe-host-'));
  writeFileSync(join(directory, 'stdin'), JSON.stringify(task));
  idles = 0;
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

function hostWith(generate: Generate): ApiHost {
  const engine: ApiEngine = {
    kind: 'api',
    name: 'x',
    description: '',
    keyNames: [],
    generate
  };
  return new ApiHost({
    apiKey: 'the-key',
    engineOf: async () => engine,
    onIdle: () => {
      idles += 1;
    },
    idleMs: 50,
    bufferBytes: 100_000
  });
}

interface Agent {
  socket: Socket;
  /** All that it was sent so far. */
  said: () => string;
  /** Resolves when the host has ended the connection. */
  closed: Promise<void>;
}

/** Hands an agent over, on a real connection. */
async function handOver(host: ApiHost, outputLimitBytes = 0): Promise<Agent> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
  const socket = connect(port, '127.0.0.1');
  const [accepted] = await once(server, 'connection');
  server.close();
  let said = '';
  socket.on('error', () => undefined);
  socket.on('data', (chunk) => {
    said += String(chunk);
  });
  const closed = new Promise<void>((resolve) => {
    socket.once('close', () => resolve());
  });
  host.take({ directory, outputLimitBytes }, accepted);
  return { socket, said: () => said, closed };
}

const isIdle = () => until('the idle time', () => idles > 0 || undefined);

test('an engine is asked only once the agent says that it runs', async () => {
  let calls = 0;
  const host = hostWith(async (_request, { onText, apiKey }) => {
    calls += 1;
    onText(apiKey);
    return { text: 'the-key', finished: true };
  });
  const silent = await handOver(host);
  const agent = await handOver(host);
  agent.socket.write('\n');
  await agent.closed;
  expect(agent.said()).toBe(
    'taken\n{"type":"text","piece":"the-key"}\n{"type":"reply","reply":{"finished":true}}\n'
  );
  silent.socket.destroy();
  await isIdle();
  expect(calls).toBe(1);
});

test('an agent that ends aborts its own call, and no other', async () => {
  const signals: AbortSignal[] = [];
  const host = hostWith((_request, { signal }) => {
    signals.push(signal);
    return new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason));
    });
  });
  const agents = [await handOver(host), await handOver(host)];
  for (const { socket } of agents) socket.write('\n');
  await until('both calls', () => signals.length === 2 || undefined);
  idles = 0;
  agents[0]?.socket.destroy();
  await until(
    'one abort',
    () => signals.some(({ aborted }) => aborted) || undefined
  );
  expect(signals.filter(({ aborted }) => aborted)).toHaveLength(1);
  expect(idles).toBe(0);
  agents[1]?.socket.destroy();
  await isIdle();
  expect(signals.every(({ aborted }) => aborted)).toBe(true);
});

test('an agent without a task is not taken', async () => {
  rmSync(join(directory, 'stdin'));
  const agent = await handOver(
    hostWith(async () => ({ text: 'never', finished: true }))
  );
  agent.socket.write('\n');
  await agent.closed;
  expect(agent.said()).toBe('');
});

test('a host is idle at once when it ends, but not while an agent is at work', async () => {
  let finish = (): void => undefined;
  const host = hostWith(
    () =>
      new Promise((resolve) => {
        finish = () => resolve({ text: 'done', finished: true });
      })
  );
  const agent = await handOver(host);
  agent.socket.write('\n');
  await until('its call', () => agent.said() !== '' || undefined);
  // A slow machine may have been idle before.
  idles = 0;
  host.end();
  expect(idles).toBe(0);
  finish();
  await agent.closed;
  await isIdle();
  expect(agent.said()).toContain('"text":"done"');
  const other = hostWith(async () => ({ text: '', finished: true }));
  idles = 0;
  other.end();
  expect(idles).toBe(1);
});

/** A provider that never stops, and the engine that reads it. */
async function endless() {
  let sent = 0;
  const provider = createHttpServer(async (request, response) => {
    request.resume();
    const chunk = 'a'.repeat(10_000);
    const more = () => {
      while (!response.destroyed && sent < 50_000_000) {
        sent += chunk.length;
        if (!response.write(chunk)) break;
      }
    };
    response.on('drain', more);
    more();
  }).listen(0, '127.0.0.1');
  await once(provider, 'listening');
  const address = provider.address();
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
  let read = 0;
  const generate: Generate = async (_request, { fetch, onText }) => {
    const { body } = await fetch(`http://127.0.0.1:${port}/`);
    for await (const chunk of body ?? []) {
      read += chunk.length;
      onText(new TextDecoder().decode(chunk));
    }
    return { text: '', finished: true };
  };
  const close = () => {
    provider.close();
    provider.closeAllConnections();
  };
  /** Bytes read, once many looks have seen no more. */
  const settled = async () => {
    let before = 0;
    let looks = 0;
    await until('a pause', () => {
      looks = read > 0 && read === before ? looks + 1 : 0;
      before = read;
      return looks > 60 || undefined;
    });
    return read;
  };
  return { generate, settled, close };
}

test('a provider is not read on while the agent takes no output', async () => {
  const { generate, settled, close } = await endless();
  const host = hostWith(generate);
  const agent = await handOver(host);
  agent.socket.pause();
  agent.socket.write('\n');
  const most = 40_000_000;
  expect(await settled()).toBeLessThan(most);
  agent.socket.destroy();
  await isIdle();
  close();
});

test('a provider is not read on past the output limit', async () => {
  const { generate, settled, close } = await endless();
  const host = hostWith(generate);
  const agent = await handOver(host, 200_000);
  agent.socket.write('\n');
  expect(await settled()).toBeLessThan(40_000_000);
  expect(agent.said().length).toBeGreaterThan(200_000);
  agent.socket.destroy();
  await isIdle();
  close();
});
