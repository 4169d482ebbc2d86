import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import {
  ListToolsRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema
} from '@modelcontextprotocol/sdk/types.js';
import { expect, test } from 'vitest';
import { until } from '../../../../test/kit/judges/until.ts';
import { Bridge, type Exchange, type Params } from './bridge.ts';
import { Listeners } from './listeners.ts';

const capabilities = {
  tools: { listChanged: true },
  resources: { subscribe: true }
};

/** A server that has every resource but those called "none". */
async function start() {
  const bridge = new Bridge();
  const server = new Server({ name: 'test', version: '1' }, { capabilities });
  const subscribed = new Set<string>();
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [] }));
  server.setRequestHandler(SubscribeRequestSchema, ({ params: { uri } }) => {
    if (uri.includes('none')) throw new Error('unknown');
    subscribed.add(uri);
    return {};
  });
  server.setRequestHandler(UnsubscribeRequestSchema, ({ params: { uri } }) => {
    subscribed.delete(uri);
    return {};
  });
  await server.connect(bridge);
  await bridge.initialize({ name: 'test', version: '1' });
  const ending = new AbortController();
  const listeners = new Listeners(bridge, capabilities);
  /** Opens a stream; with a gate, its client reads nothing until it opens. */
  const open = (
    id: string,
    notifications: Params,
    gate = Promise.resolve()
  ) => {
    const cancelled = new AbortController();
    const seen: [method: string, params: Params][] = [];
    const exchange: Exchange = {
      signal: cancelled.signal,
      notify: async (method, params) => {
        seen.push([method, params]);
        await gate;
      }
    };
    const params = { notifications };
    const over = listeners.listen(id, params, exchange, ending.signal);
    return { seen, over, cancel: () => cancelled.abort() };
  };
  return { server, bridge, subscribed, ending, listeners, open };
}

const acknowledged = 'notifications/subscriptions/acknowledged';
const updated = 'notifications/resources/updated';

test('a stream is acknowledged with the changes that can happen', async () => {
  const { open, subscribed } = await start();
  const { seen } = open('s', {
    toolsListChanged: true,
    promptsListChanged: true,
    resourcesListChanged: true,
    resourceSubscriptions: ['a:1', 'a:none', 'a:1']
  });
  await until('the acknowledgment', () => seen[0]);
  const notifications = {
    toolsListChanged: true,
    resourceSubscriptions: ['a:1']
  };
  const _meta = { 'io.modelcontextprotocol/subscriptionId': 's' };
  expect(seen).toEqual([[acknowledged, { notifications, _meta }]]);
  expect([...subscribed]).toEqual(['a:1']);
});

test('a change is reported to the streams that are for it', async () => {
  const { open, server } = await start();
  const one = open('one', { resourceSubscriptions: ['a:1'] });
  const two = open('two', { resourceSubscriptions: ['a:2'] });
  await until('both', () => one.seen[0] && two.seen[0]);
  await server.sendResourceUpdated({ uri: 'a:1' });
  await server.sendToolListChanged();
  expect(one.seen.map(([method]) => method)).toEqual([acknowledged, updated]);
  expect(two.seen.map(([method]) => method)).toEqual([acknowledged]);
});

test('a server may notify while a stream is open, and its resource stays subscribed', async () => {
  const { open, subscribed, bridge } = await start();
  expect(bridge.canNotify).toBe(false);
  const one = open('one', { resourceSubscriptions: ['a:1'] });
  const two = open('two', { resourceSubscriptions: ['a:1'] });
  await until('both', () => one.seen[0] && two.seen[0]);
  one.cancel();
  expect(await one.over).toBe(false);
  expect([...subscribed]).toEqual(['a:1']);
  expect(bridge.canNotify).toBe(true);
  two.cancel();
  expect(await two.over).toBe(false);
  expect([...subscribed]).toEqual([]);
  expect(bridge.canNotify).toBe(false);
});

test('a slow reader gets a change once, however often it happened', async () => {
  const { open, server } = await start();
  let read = (): void => undefined;
  const gate = new Promise<void>((resolve) => {
    read = resolve;
  });
  const uris = ['a:1', 'a:2'];
  const { seen } = open('s', { resourceSubscriptions: uris }, gate);
  await until('the acknowledgment', () => seen[0]);
  for (let count = 0; count < 100; count += 1)
    for (const uri of uris) await server.sendResourceUpdated({ uri });
  expect(seen).toHaveLength(1);
  read();
  await until('both changes', () => seen.length === 3);
  expect(seen.slice(1).map(([, { uri }]) => uri)).toEqual(uris);
});

test('the end of the server ends a stream that is still open', async () => {
  const { open, ending } = await start();
  const { over } = open('s', {});
  ending.abort();
  expect(await over).toBe(true);
});

test('a request without changes is refused', async () => {
  const { listeners, ending } = await start();
  const { signal } = new AbortController();
  const exchange: Exchange = { signal, notify: async () => undefined };
  for (const params of [undefined, {}, { notifications: 7 }])
    await expect(
      listeners.listen('s', params, exchange, ending.signal)
    ).rejects.toMatchObject({ code: -32602 });
});
