import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { AskServer } from './ask-server.ts';
import type { AskTool } from './ask-tools.ts';

type Fields = Record<string, unknown>;

const echo: AskTool = {
  ...{ name: 'echo', title: 'Echo', description: 'Repeats.', annotations: {} },
  inputSchema: { type: 'object', properties: {} },
  call: async (input, { progress }) => {
    progress(1, 'half way');
    return { content: [{ type: 'text', text: JSON.stringify(input) }] };
  }
};

const forever: AskTool = {
  ...echo,
  name: 'forever',
  call: (_, { signal }) =>
    new Promise((resolve) =>
      signal.addEventListener('abort', () => resolve({ content: [] }))
    )
};

const described = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {}
};

/** What the server writes in answer to these lines, once the input has ended. */
async function answersTo(...lines: (string | Fields)[]): Promise<Fields[]> {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const server = new AskServer([echo, forever], input, output);
  for (const line of lines)
    input.write(
      `${typeof line === 'string' ? line : JSON.stringify({ jsonrpc: '2.0', ...line })}\n`
    );
  input.end();
  await new Promise((resolve) => input.on('end', resolve));
  await server.end();
  output.end();
  const text = Buffer.concat(await output.toArray()).toString();
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

test.each(['2025-06-18', '2025-11-25'])(
  'a client of revision %s is greeted in its revision',
  async (protocolVersion) => {
    const params = { protocolVersion, capabilities: {}, clientInfo: {} };
    const [answer] = await answersTo({ id: 1, method: 'initialize', params });
    expect(answer).toMatchObject({
      id: 1,
      result: {
        protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'troupe' }
      }
    });
  }
);

test('an unknown revision is answered with the latest that has a greeting', async () => {
  const params = { protocolVersion: '1999-01-01' };
  const [answer] = await answersTo({ id: 1, method: 'initialize', params });
  expect(answer?.result).toMatchObject({ protocolVersion: '2025-11-25' });
});

test('tools are listed without their functions, and a ping is answered', async () => {
  const [list, ping] = await answersTo(
    { method: 'notifications/initialized' },
    { id: 'a', method: 'tools/list' },
    { id: 'b', method: 'ping' }
  );
  const { call, ...facts } = echo;
  expect(list).toEqual({
    jsonrpc: '2.0',
    id: 'a',
    result: { tools: [facts, { ...facts, name: 'forever' }] }
  });
  expect(ping).toEqual({ jsonrpc: '2.0', id: 'b', result: {} });
});

test('a call reports its progress, if it has a token, and is answered', async () => {
  const params = { name: 'echo', arguments: { a: 1 } };
  const answers = await answersTo(
    { id: 1, method: 'tools/call', params },
    {
      id: 2,
      method: 'tools/call',
      params: { ...params, _meta: { progressToken: 't' } }
    }
  );
  const result = { content: [{ type: 'text', text: '{"a":1}' }] };
  expect(answers).toHaveLength(3);
  expect(answers).toContainEqual({ jsonrpc: '2.0', id: 1, result });
  expect(answers).toContainEqual({ jsonrpc: '2.0', id: 2, result });
  expect(answers).toContainEqual({
    jsonrpc: '2.0',
    method: 'notifications/progress',
    params: { progressToken: 't', progress: 1, message: 'half way' }
  });
});

test('a canceled call is not answered', async () => {
  const answers = await answersTo(
    { id: 1, method: 'tools/call', params: { name: 'forever' } },
    { method: 'notifications/cancelled', params: { requestId: 1 } },
    { id: 2, method: 'ping' }
  );
  expect(answers.map(({ id }) => id)).toEqual([2]);
});

test('an unknown tool is an error that names the tools', async () => {
  const params = { name: 'other' };
  const [answer] = await answersTo({ id: 1, method: 'tools/call', params });
  expect(answer?.result).toMatchObject({
    isError: true,
    structuredContent: {
      error_code: 'unknown_tool',
      hint: 'Tools: echo, forever.'
    }
  });
});

test.each([
  ['text that is not JSON', 'tools/list', -32700, null],
  ['an unknown method', { id: 1, method: 'no/such' }, -32601, 1],
  ['a call without a name', { id: 1, method: 'tools/call' }, -32602, 1],
  ['a request without a version', '{"id":1,"method":"ping"}', -32600, 1],
  [
    'a request in a batch',
    '[{"jsonrpc":"2.0","id":1,"method":"ping"}]',
    -32600,
    1
  ],
  [
    'a ping of revision 2026-07-28',
    { id: 1, method: 'ping', params: { _meta: described } },
    -32601,
    1
  ],
  [
    'a request that does not describe itself',
    { id: 1, method: 'server/discover' },
    -32602,
    1
  ],
  [
    'a revision that does not exist',
    {
      id: 1,
      method: 'tools/list',
      params: {
        _meta: {
          ...described,
          'io.modelcontextprotocol/protocolVersion': '2099-01-01'
        }
      }
    },
    -32022,
    1
  ]
])('%s is refused', async (_title, line, code, id) => {
  const answers = await answersTo(line);
  expect(answers).toMatchObject([{ id, error: { code } }]);
});

test('an id that is in use is refused', async () => {
  const call = { id: 1, method: 'tools/call', params: { name: 'forever' } };
  const [answer] = await answersTo(call, call);
  expect(answer).toMatchObject({ id: 1, error: { code: -32600 } });
});

test('answers and notifications of the client are ignored', async () => {
  const ping = { id: 2, method: 'ping' };
  const answers = await answersTo(
    { id: 1, result: {} },
    { method: 'notifications/other' },
    '',
    ping
  );
  expect(answers.map(({ id }) => id)).toEqual([2]);
});

test('revision 2026-07-28 is discovered, and lists and calls say what it wants', async () => {
  const answers = await answersTo(
    { id: 1, method: 'server/discover', params: { _meta: described } },
    { id: 2, method: 'tools/list', params: { _meta: described } },
    {
      id: 3,
      method: 'tools/call',
      params: { name: 'echo', _meta: described }
    },
    {
      id: 4,
      method: 'subscriptions/listen',
      params: { notifications: {}, _meta: described }
    }
  );
  const _meta = {
    'io.modelcontextprotocol/serverInfo': expect.objectContaining({
      name: 'troupe'
    })
  };
  const fresh = { ttlMs: 60_000, cacheScope: 'private', _meta };
  const by = (id: number) => answers.find((one) => one.id === id)?.result;
  expect(by(1)).toMatchObject({
    resultType: 'complete',
    supportedVersions: expect.arrayContaining(['2026-07-28', '2025-11-25']),
    capabilities: { tools: {} },
    ...fresh
  });
  expect(by(2)).toMatchObject({ resultType: 'complete', ...fresh });
  expect(by(3)).toMatchObject({ resultType: 'complete', _meta });
  expect(by(3)).not.toHaveProperty('ttlMs');
  expect(answers).toContainEqual({
    jsonrpc: '2.0',
    method: 'notifications/subscriptions/acknowledged',
    params: {
      notifications: {},
      _meta: { 'io.modelcontextprotocol/subscriptionId': 4 }
    }
  });
});
