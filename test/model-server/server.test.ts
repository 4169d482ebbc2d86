import { afterEach, expect, test } from 'vitest';
import { directives } from './actions.ts';
import { type Json, record, records } from './json.ts';
import { type ModelServer, startModelServer } from './server.ts';

let server: ModelServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function post(path: string, body: object): Promise<Response> {
  server ??= await startModelServer();
  return fetch(server.url + path, {
    method: 'POST',
    body: JSON.stringify(body)
  });
}

function user(...content: object[]): object {
  return { role: 'user', content };
}

async function ask(prompt: string, ...later: object[]): Promise<Json> {
  const messages = [user({ type: 'text', text: prompt }), ...later];
  const response = await post('/v1/messages', { model: 'm', messages });
  return record(await response.json());
}

test('directives nest, so that one agent can instruct another', () => {
  expect(
    directives('Do [[mcp: troupe spawn {"prompt":"[[say: hi]]"}]] now')
  ).toEqual([
    {
      do: 'mcp',
      server: 'troupe',
      tool: 'spawn',
      arguments: { prompt: '[[say: hi]]' }
    }
  ]);
});

test('a tool call ends a request and its result continues the script', async () => {
  const prompt = '[[say: First.]] [[shell: ls]] [[say: Then.]]';
  const first = await ask(prompt);
  expect(first).toMatchObject({
    stop_reason: 'tool_use',
    content: [
      { type: 'text', text: 'First.' },
      { type: 'tool_use', name: 'Bash', input: { command: 'ls' } }
    ]
  });

  const result = user({ type: 'tool_result', tool_use_id: 'x', content: 'a' });
  const second = await ask(
    prompt,
    { role: 'assistant', content: first.content },
    result
  );
  expect(second.content).toEqual([{ type: 'text', text: 'Then.' }]);
});

test('a status comes as often as it was asked for', async () => {
  expect(await ask('[[status: 429 1]] [[say: hi]]')).toMatchObject({
    type: 'error',
    error: { type: 'rate_limit_error' }
  });
  const { content } = await ask('[[status: 429 1]] [[say: hi]]');
  expect(content).toEqual([{ type: 'text', text: 'hi' }]);
});

test('a script decides in place of directives and sees the turn', async () => {
  server = await startModelServer({
    script: (turn) => [{ do: 'say', text: `${turn.api}: ${turn.prompt}` }]
  });
  const response = await post('/v1/responses', { model: 'm', input: 'Hello' });
  const [message] = records(record(await response.json()).output);
  expect(message?.content).toMatchObject([{ text: 'responses: Hello' }]);
  expect(server.requests).toMatchObject([
    { path: '/v1/responses', body: { input: 'Hello' } }
  ]);
});

test('an answer is streamed when the request asks for it', async () => {
  const input = [user({ type: 'input_text', text: '[[say: hi]]' })];
  const response = await post('/v1/responses', { stream: true, input });
  const types = [...(await response.text()).matchAll(/^event: (\S+)$/gm)];
  expect(types.map(([, type]) => type)).toEqual([
    'response.created',
    'response.output_item.added',
    'response.output_text.delta',
    'response.output_item.done',
    'response.completed'
  ]);
});

test('a connection is dropped after what was said before', async () => {
  const messages = [user({ type: 'text', text: '[[say: half]] [[drop]]' })];
  const response = await post('/v1/messages', { stream: true, messages });
  await expect(response.text()).rejects.toThrow();
});
