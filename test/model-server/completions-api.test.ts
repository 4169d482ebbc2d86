import { afterAll, beforeAll, expect, test } from 'vitest';
import { record, records } from './json.ts';
import { type ModelServer, startModelServer } from './server.ts';

let server: ModelServer;

beforeAll(async () => {
  server = await startModelServer();
});

afterAll(() => server.close());

function post(messages: object[], more: object = {}): Promise<Response> {
  return fetch(`${server.url}/v1/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({ model: 'm', messages, ...more })
  });
}

async function ask(prompt: string, ...later: object[]) {
  const response = await post([{ role: 'user', content: prompt }, ...later]);
  const [choice] = records(record(await response.json()).choices);
  return choice;
}

test('a tool call ends a request and its result continues the script', async () => {
  const prompt = '[[say: First.]] [[shell: ls]] [[say: Then.]]';
  expect(await ask(prompt)).toMatchObject({
    finish_reason: 'tool_calls',
    message: {
      content: 'First.',
      tool_calls: [{ type: 'function', function: { name: 'bash' } }]
    }
  });
  const result = { role: 'tool', tool_call_id: 'x', content: 'a' };
  expect(await ask(prompt, result)).toMatchObject({
    finish_reason: 'stop',
    message: { content: 'Then.' }
  });
});

test('what Copilot adds to a prompt is no part of it', async () => {
  const time = '<current_datetime>[[say: no]]</current_datetime>';
  const goOn = {
    role: 'user',
    content: 'Please continue from where you left off.'
  };
  expect(await ask(`${time}\n\n[[say: yes]]`, goOn)).toMatchObject({
    message: { content: 'yes' }
  });
});

test('a streamed answer ends with its usage', async () => {
  const content = '[[say: hi]] [[usage: 1200 34 200]]';
  const response = await post([{ role: 'user', content }], { stream: true });
  const events = (await response.text()).match(/^data: .*$/gm) ?? [];
  expect(events.at(-1)).toBe('data: [DONE]');
  const chunks = events
    .slice(0, -1)
    .map((line) => JSON.parse(line.slice('data: '.length)));
  expect(chunks).toMatchObject([
    { choices: [{ delta: { content: 'hi' }, finish_reason: null }] },
    { choices: [{ delta: {}, finish_reason: 'stop' }] },
    {
      choices: [],
      usage: {
        prompt_tokens: 1200,
        prompt_tokens_details: { cached_tokens: 200 },
        completion_tokens: 34,
        total_tokens: 1234
      }
    }
  ]);
});

test.each([
  ['refusal', 'content_filter'],
  ['max_tokens', 'length']
])('an answer that stops for %s says so', async (stop, finish_reason) => {
  expect(await ask(`[[say: x]] [[stop: ${stop}]]`)).toMatchObject({
    finish_reason
  });
});

test('an error has the status and the words that were asked for', async () => {
  const content = '[[status: 429 | Slow down]]';
  const response = await post([{ role: 'user', content }]);
  expect(response.status).toBe(429);
  expect(await response.json()).toMatchObject({
    error: { message: 'Slow down', code: 'rate_limit_exceeded' }
  });
});
