import { expect, test } from 'vitest';
import { idOfLong, refusalsOf } from './bad-message.ts';

const request = { jsonrpc: '2.0', id: 7, method: 'tools/list' };

test.each([
  ['without its version', { id: 7, method: 'tools/list' }, 'jsonrpc'],
  ['with params that are a list', { ...request, params: [] }, 'params'],
  ['without a method', { jsonrpc: '2.0', id: 7 }, 'method'],
  ['with a member too many', { ...request, extra: 1 }, 'too many'],
  [
    'with a progress token that is none',
    { ...request, params: { _meta: { progressToken: {} } } },
    'params._meta.progressToken'
  ]
])('a request %s is told what is wrong', (_, message, named) => {
  const [refusal, ...more] = refusalsOf(message);
  expect(refusal).toMatchObject({ id: 7, why: expect.stringContaining(named) });
  expect(more).toEqual([]);
});

test('each request of a batch is told that there are none', () => {
  const batch = [request, { jsonrpc: '2.0', method: 'ping' }, 1, { id: 'x' }];
  expect(refusalsOf(batch).map(({ id }) => id)).toEqual([7, 'x']);
  expect(refusalsOf(batch)[0]?.why).toContain('batch');
});

test.each([
  ['an answer', { jsonrpc: '2.0', id: 7, result: 1 }],
  ['an error', { jsonrpc: '2.0', id: 7, error: 'x' }],
  ['a notification', { method: 'notifications/of-what', params: [] }],
  ['an id that is none', { ...request, id: {} }],
  ['an id that would come back as another', { ...request, id: 2 ** 60 }],
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
