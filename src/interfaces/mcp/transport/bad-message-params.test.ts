import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { expect, test } from 'vitest';
import { refuseWrongParams } from './bad-message.ts';

async function send(method: string, params?: Record<string, unknown>) {
  const [client, server] = InMemoryTransport.createLinkedPair();
  const received: JSONRPCMessage[] = [];
  const answers: JSONRPCMessage[] = [];
  server.onmessage = (message) => received.push(message);
  refuseWrongParams(server);
  client.onmessage = (message) => answers.push(message);
  await client.send({
    jsonrpc: '2.0',
    id: 7,
    method,
    ...(params ? { params } : {})
  });
  return { received, answers };
}

test.each([
  ['tools/call', { name: 7 }, 'params.name'],
  ['tools/call', { name: 'list', arguments: null }, 'params.arguments'],
  ['tools/call', undefined, 'params'],
  ['tools/list', { cursor: {} }, 'params.cursor'],
  ['initialize', { protocolVersion: '2025-11-25' }, 'params.capabilities']
])(
  '%s with %j is refused, and the error names the parameter',
  async (method, params, named) => {
    const { received, answers } = await send(method, params);
    expect(received).toEqual([]);
    expect(answers).toMatchObject([
      {
        id: 7,
        error: { code: -32602, message: expect.stringContaining(named) }
      }
    ]);
  }
);

test.each([
  ['tools/call', { name: 'list', arguments: {} }],
  ['tools/list', undefined],
  ['resources/read', { uri: 7 }],
  ['constructor', { name: 7 }]
])('%s with %j is passed on', async (method, params) => {
  const { received, answers } = await send(method, params);
  expect(received).toMatchObject([{ method }]);
  expect(answers).toEqual([]);
});

test('a message without an id is passed on, as it can have no answer', async () => {
  const [client, server] = InMemoryTransport.createLinkedPair();
  const received: JSONRPCMessage[] = [];
  const answers: JSONRPCMessage[] = [];
  server.onmessage = (message) => received.push(message);
  refuseWrongParams(server);
  client.onmessage = (message) => answers.push(message);
  const note = { jsonrpc: '2.0', method: 'tools/call' } as const;
  await client.send(note);
  expect({ received, answers }).toEqual({ received: [note], answers: [] });
});

test('a request for a task is ignored, as the protocol requires', async () => {
  const params = { name: 'list', arguments: {}, task: { ttl: 'odd' } };
  const { received } = await send('tools/call', params);
  expect(received).toMatchObject([{ params: { name: 'list' } }]);
  expect(JSON.stringify(received)).not.toContain('ttl');
});
