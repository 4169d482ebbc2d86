import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { expect, test } from 'vitest';
import { refuseWrongParams } from './wrong-params.ts';

async function sent(method: string, params?: Record<string, unknown>) {
  const [client, server] = InMemoryTransport.createLinkedPair();
  const taken: JSONRPCMessage[] = [];
  const answers: JSONRPCMessage[] = [];
  server.onmessage = (message) => taken.push(message);
  refuseWrongParams(server);
  client.onmessage = (message) => answers.push(message);
  await client.send({
    jsonrpc: '2.0',
    id: 7,
    method,
    ...(params ? { params } : {})
  });
  return { taken, answers };
}

test.each([
  ['tools/call', { name: 7 }, 'params.name'],
  ['tools/call', { name: 'list', arguments: null }, 'params.arguments'],
  ['tools/call', undefined, 'params'],
  ['tools/list', { cursor: {} }, 'params.cursor'],
  ['initialize', { protocolVersion: '2025-11-25' }, 'params.capabilities']
])('%s with %j is refused by name', async (method, params, named) => {
  const { taken, answers } = await sent(method, params);
  expect(taken).toEqual([]);
  expect(answers).toMatchObject([
    { id: 7, error: { code: -32602, message: expect.stringContaining(named) } }
  ]);
});

test.each([
  ['tools/call', { name: 'list', arguments: {} }],
  ['tools/list', undefined],
  ['resources/read', { uri: 7 }],
  ['constructor', { name: 7 }]
])('%s with %j is passed on', async (method, params) => {
  const { taken, answers } = await sent(method, params);
  expect(taken).toMatchObject([{ method }]);
  expect(answers).toEqual([]);
});

test('the wish for a task is passed over, as the protocol wants it', async () => {
  const params = { name: 'list', arguments: {}, task: { ttl: 'odd' } };
  const { taken } = await sent('tools/call', params);
  expect(taken).toMatchObject([{ params: { name: 'list' } }]);
  expect(JSON.stringify(taken)).not.toContain('ttl');
});
