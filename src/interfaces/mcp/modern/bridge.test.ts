import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import {
  CallToolRequestSchema,
  ElicitResultSchema
} from '@modelcontextprotocol/sdk/types.js';
import { expect, test } from 'vitest';
import { until } from '../../../../test/kit/judges/until.ts';
import { Bridge, type Exchange, type Params } from './bridge.ts';

/** A server whose tool does what a test says. */
async function connected(
  work: (
    extra: Parameters<Parameters<Server['setRequestHandler']>[1]>[1],
    server: Server
  ) => Promise<string>
) {
  const bridge = new Bridge();
  const server = new Server(
    { name: 'test', version: '1' },
    { capabilities: { tools: { listChanged: true } } }
  );
  server.setRequestHandler(CallToolRequestSchema, async (_, extra) => ({
    content: [{ type: 'text', text: await work(extra, server) }]
  }));
  await server.connect(bridge);
  await bridge.initialize({ name: 'the-client', version: '7' });
  return { bridge, server };
}

function exchange() {
  const cancelled = new AbortController();
  const notes: [method: string, params: Params][] = [];
  const one: Exchange = {
    signal: cancelled.signal,
    notify: async (method, params) => void notes.push([method, params])
  };
  return { one, notes, cancel: () => cancelled.abort() };
}

test('the server knows the client by the name of its requests', async () => {
  const { server } = await connected(async () => '');
  expect(server.getClientVersion()).toEqual({
    name: 'the-client',
    version: '7'
  });
});

test('requests with the same progress token get their own progress', async () => {
  const { bridge } = await connected(async ({ _meta, sendNotification }) => {
    const progressToken = _meta?.progressToken ?? 'none';
    await sendNotification({
      method: 'notifications/progress',
      params: { progressToken, progress: 1 }
    });
    return 'done';
  });
  const [first, second] = [exchange(), exchange()];
  const call = { name: 'x', _meta: { progressToken: 'same' } };
  await Promise.all([
    bridge.request('tools/call', call, first.one),
    bridge.request('tools/call', call, second.one)
  ]);
  for (const { notes } of [first, second])
    expect(notes).toEqual([
      ['notifications/progress', { progressToken: 'same', progress: 1 }]
    ]);
});

test('a canceled request reaches the server, and has no answer', async () => {
  const signals: AbortSignal[] = [];
  const { bridge } = await connected(({ signal }) => {
    signals.push(signal);
    return new Promise(() => undefined);
  });
  const { one, cancel } = exchange();
  const asked = bridge.request('tools/call', { name: 'x' }, one);
  await until('the call', () => signals[0]);
  cancel();
  expect(await asked).toBeUndefined();
  expect(signals[0]?.aborted).toBe(true);
  const early = exchange();
  early.cancel();
  expect(
    await bridge.request('tools/call', { name: 'x' }, early.one)
  ).toBeUndefined();
});

test('a server that asks the client is refused at once', async () => {
  const { bridge } = await connected((_, server) =>
    server
      .request(
        {
          method: 'elicitation/create',
          params: {
            message: '?',
            requestedSchema: { type: 'object', properties: {} }
          }
        },
        ElicitResultSchema
      )
      .then(
        () => 'answered',
        (error: Error) => error.message
      )
  );
  const bridged = await bridge.request('tools/call', { name: 'x' });
  expect(JSON.stringify(bridged?.answer)).toContain('Method not found');
});

test('an error keeps its code, and the end of the bridge ends what is open', async () => {
  const { bridge, server } = await connected(
    () => new Promise(() => undefined)
  );
  const unknown = await bridge.request('no/such');
  expect(unknown?.answer).toMatchObject({ error: { code: -32601 } });
  const open = bridge.request('tools/call', { name: 'x' });
  await server.close();
  expect(await open).toBeUndefined();
});

test('work for the time after an answer comes with it', async () => {
  let ran = 0;
  const { bridge } = await connected(async ({ requestId }) => {
    bridge.afterAnswer(requestId, () => {
      ran += 1;
    });
    return 'done';
  });
  const bridged = await bridge.request('tools/call', { name: 'x' });
  expect(ran).toBe(0);
  for (const work of bridged?.work ?? []) work();
  expect(ran).toBe(1);
});
