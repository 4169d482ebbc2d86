import type { IncomingHttpHeaders } from 'node:http';
import { expect, test } from 'vitest';
import {
  modernParams,
  modernRevision
} from '../../../test/kit/servers/modern-client.ts';
import type { AddedTool } from '../mcp/server/additions.ts';
import { mismatchOf } from './mirrored-headers.ts';

const search: AddedTool = {
  name: 'search',
  inputSchema: {
    type: 'object',
    properties: {
      region: { type: 'string', 'x-mcp-header': 'Region' },
      count: { type: 'integer', 'x-mcp-header': 'Count' },
      deep: { type: 'boolean', 'x-mcp-header': 'Deep' },
      query: {
        type: 'object',
        properties: { site: { type: 'string', 'x-mcp-header': 'Site' } }
      }
    }
  },
  call: () => ({ content: [] })
};

function check(
  method: string,
  params: Record<string, unknown>,
  headers: IncomingHttpHeaders,
  version = modernRevision
) {
  const request = {
    jsonrpc: '2.0' as const,
    id: 1,
    method,
    params: modernParams(params, { version })
  };
  const usual = { 'mcp-protocol-version': version, 'mcp-method': method };
  return mismatchOf({ ...usual, ...headers }, request, [search]);
}

function checkCall(
  input: Record<string, unknown>,
  headers: IncomingHttpHeaders
) {
  const params = { name: 'search', arguments: input };
  return check('tools/call', params, { 'mcp-name': 'search', ...headers });
}

test('headers that repeat the body are right', () => {
  expect(check('tools/list', {}, {})).toBeUndefined();
  expect(
    check('resources/read', { uri: 'a:1' }, { 'mcp-name': 'a:1' })
  ).toBeUndefined();
  expect(checkCall({}, {})).toBeUndefined();
});

test('a later revision may have other headers', () => {
  const headers = { 'mcp-method': undefined };
  expect(check('tools/list', {}, headers, '2027-01-01')).toBeUndefined();
  expect(check('tools/list', {}, headers)).toBe('Mcp-Method is missing.');
});

test.each([
  ['a text', { region: 'west' }, { 'mcp-param-region': 'west' }],
  [
    'an encoded text',
    { region: 'Zürich' },
    { 'mcp-param-region': '=?base64?WsO8cmljaA==?=' }
  ],
  [
    'a text with half of the marks',
    { region: '=?base64?SGVsbG8=' },
    { 'mcp-param-region': '=?base64?SGVsbG8=' }
  ],
  ['a number', { count: 42 }, { 'mcp-param-count': '42.0' }],
  ['a choice', { deep: false }, { 'mcp-param-deep': 'false' }],
  ['a nested text', { query: { site: 'a' } }, { 'mcp-param-site': 'a' }],
  ['null', { region: null }, {}]
])('a parameter with %s may be in a header', (_, input, headers) => {
  expect(checkCall(input, headers)).toBeUndefined();
});

test.each([
  ['is missing', { region: 'west' }, {}],
  ['is another', { region: 'west' }, { 'mcp-param-region': 'east' }],
  ['is one too many', {}, { 'mcp-param-region': 'east' }],
  [
    'has the wrong padding',
    { region: 'Hello' },
    { 'mcp-param-region': '=?base64?SGVsbG8?=' }
  ],
  [
    'has characters that base64 does not have',
    { region: 'Hello' },
    { 'mcp-param-region': '=?base64?SGVs!!!bG8=?=' }
  ],
  ['is no number', { count: 0 }, { 'mcp-param-count': '' }],
  ['is not plain', { region: 'Zürich' }, { 'mcp-param-region': 'Zürich' }],
  ['is another, nested', { query: { site: 'a' } }, { 'mcp-param-site': 'b' }]
])('a header that %s is named', (_, input, headers) => {
  expect(checkCall(input, headers)).toMatch(/^Mcp-Param-(Region|Count|Site) /);
});

test('only the tools of another program are looked at for headers', () => {
  const params = { name: 'list', arguments: { region: 'west' } };
  expect(check('tools/call', params, { 'mcp-name': 'list' })).toBeUndefined();
});
