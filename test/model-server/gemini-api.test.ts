import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Json, record, records } from './json.ts';
import { type ModelServer, startModelServer } from './server.ts';

let server: ModelServer;

beforeAll(async () => {
  server = await startModelServer();
});

afterAll(() => server.close());

function post(method: string, body: object): Promise<Response> {
  const { url } = server;
  return fetch(`${url}/v1beta/models/gemini-x:${method}`, {
    method: 'POST',
    body: JSON.stringify(body)
  });
}

function user(...parts: object[]): object {
  return { role: 'user', parts };
}

async function ask(prompt: string, ...later: object[]): Promise<Json> {
  const contents = [user({ text: prompt }), ...later];
  const response = await post('generateContent', { contents });
  return record(await response.json());
}

function partsOf(answer: Json): unknown {
  const [candidate] = records(answer.candidates);
  return record(candidate?.content).parts;
}

test('a tool call ends a request and its result continues the script', async () => {
  const prompt = '[[say: First.]] [[shell: ls]] [[say: Then.]]';
  const first = await ask(prompt);
  expect(partsOf(first)).toEqual([
    { text: 'First.' },
    { functionCall: { name: 'run_shell_command', args: { command: 'ls' } } }
  ]);
  const functionResponse = { name: 'x', response: { output: 'a' } };
  const second = await ask(prompt, user({ functionResponse }));
  expect(partsOf(second)).toEqual([{ text: 'Then.' }]);
  expect(second.modelVersion).toBe('gemini-x');
});

test('what Gemini CLI says of its session is no part of a prompt', async () => {
  const contents = [
    user(
      { text: '<session_context>[[say: no]]</session_context>' },
      { text: '[[say: yes]]' }
    )
  ];
  const response = await post('generateContent', { contents });
  const answer = record(await response.json());
  expect(partsOf(answer)).toEqual([{ text: 'yes' }]);
});

test('a prompt that follows one without an answer is read alone', async () => {
  const contents = [user({ text: '[[say: old]]' }, { text: '[[say: new]]' })];
  const response = await post('generateContent', { contents });
  const answer = record(await response.json());
  expect(partsOf(answer)).toEqual([{ text: 'new' }]);
});

test('a streamed answer is one event a piece, and then its usage', async () => {
  const contents = [user({ text: '[[say: a\u2028b]] [[usage: 1200 34 200]]' })];
  const response = await post('streamGenerateContent?alt=sse', { contents });
  const text = await response.text();
  // Google's SDK takes this character for the end of a line.
  expect(text).not.toContain('\u2028');
  const chunks = text
    .split('\n\n')
    .filter((chunk) => chunk !== '')
    .map((chunk) => JSON.parse(chunk.slice('data: '.length)));
  expect(chunks).toMatchObject([
    { candidates: [{ content: { parts: [{ text: 'a\u2028b' }] } }] },
    {
      candidates: [{ finishReason: 'STOP' }],
      usageMetadata: {
        promptTokenCount: 1200,
        cachedContentTokenCount: 200,
        candidatesTokenCount: 34,
        totalTokenCount: 1234
      }
    }
  ]);
});

test.each([
  ['refusal', 'SAFETY'],
  ['max_tokens', 'MAX_TOKENS']
])('an answer that stops for %s says so', async (stop, finishReason) => {
  const { candidates } = await ask(`[[say: x]] [[stop: ${stop}]]`);
  expect(candidates).toMatchObject([{ finishReason }]);
});

test('an error has the status and the words that were asked for', async () => {
  expect(await ask('[[status: 404 | No such model]]')).toEqual({
    error: { code: 404, status: 'NOT_FOUND', message: 'No such model' }
  });
});

test('the question how hard a task is is none of the conversation', async () => {
  const properties = { complexity_score: { type: 'INTEGER' } };
  const answer = await post('generateContent', {
    contents: [user({ text: '[[status: 500]]' })],
    generationConfig: { responseJsonSchema: { properties } }
  });
  const [part] = records(partsOf(record(await answer.json())));
  expect(JSON.parse(String(part?.text))).toMatchObject({
    complexity_score: 1
  });
});

test('tokens are counted', async () => {
  const response = await post('countTokens', { contents: [] });
  expect(await response.json()).toEqual({ totalTokens: 4 });
});
