import { expect, test } from 'vitest';
import { idOfLong, refusalsOf } from './bad-message.ts';

const request = { jsonrpc: '2.0', id: 7, method: 'tools/list' };

test.each([
  ['without its version', { id: 7, method: 'tools/list' }, 'jsonrpc'],
  ['with params that are a list', { ...request, params: [] }, 'params'],
  ['without a method', { jsonrpc: '2.0', id: 7 }, 'method'],
  ['with an unknown member', { ...request, extra: 1 }, 'unknown member'],
  [
    'with an invalid progress token',
    { ...request, params: { _meta: { progressToken: {} } } },
    'params._meta.progressToken'
  ]
])('a request %s gets an error that names the problem', (_, message, named) => {
  const [refusal, ...more] = refusalsOf(message);
  expect(refusal).toMatchObject({
    id: 7,
    message: expect.stringContaining(named)
  });
  expect(more).toEqual([]);
});

test('each request of a batch gets an error', () => {
  const batch = [request, { jsonrpc: '2.0', method: 'ping' }, 1, { id: 'x' }];
  expect(refusalsOf(batch).map(({ id }) => id)).toEqual([7, 'x']);
  expect(refusalsOf(batch)[0]?.message).toContain('batch');
});

test.each([
  ['an answer', { jsonrpc: '2.0', id: 7, result: 1 }],
  ['an error', { jsonrpc: '2.0', id: 7, error: 'x' }],
  ['a notification', { method: 'notifications/of-what', params: [] }],
  ['an invalid id', { ...request, id: {} }],
  ['an id that JSON does not preserve', { ...request, id: 2 ** 60 }],
  ['no object', 7]
])('%s is not answered', (_, message) => {
  expect(refusalsOf(message)).toEqual([]);
});

test.each([
  ['{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"a":"', 'x"}}', 7],
  ['{"method":"tools/call","params":{"a":"', 'x"},"jsonrpc":"2.0","id":7}', 7],
  [
    '{"method":"x","params":{"a":"',
    'x"},"id":"seven" , "jsonrpc":"2.0" }',
    'seven'
  ],
  ['{"method":"x","params":{"a":"', 'x","id":7}}', undefined],
  ['{"method":"x","params":{"id":8,"a":"', 'x"}}', undefined],
  ['{"jsonrpc":"2.0","id":7,"result":{"method":"', 'x"}}', undefined],
  ['[{"jsonrpc":"2.0","id":7,"method":"', 'x"}]', undefined],
  ['', '', undefined]
])('the id of a long %s…%s is %j', (head, tail, id) => {
  expect(idOfLong({ head, tail })).toBe(id);
});
