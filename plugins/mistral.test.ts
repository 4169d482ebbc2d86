import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type ApiTask,
  readApiEvent
} from '../src/core/engines/api/api-task.ts';
import { execute } from '../src/core/engines/api/execute.ts';
import type { Reply } from '../src/plugin/plugin.ts';
import { events } from '../test/provider-fake/answers.ts';
import {
  type ProviderFake,
  startProviderFake
} from '../test/provider-fake/fake.ts';
import mistral from './mistral.ts';

let fake: ProviderFake;

beforeAll(async () => {
  fake = await startProviderFake('mistral');
});

afterAll(() => fake.close());

/** Calls an engine whose provider answers with these events, or with a body. */
async function ask(stream: boolean, ...answer: object[]): Promise<Reply> {
  fake.plan('Hi', events(...answer.map((event) => JSON.stringify(event))));
  const task: ApiTask = {
    v: 1,
    engine: 'mistral',
    label: 'Mistral',
    plugin: null,
    request: { prompt: 'Hi', model: 'm', turns: [], stream, baseUrl: fake.url },
    idleTimeoutSeconds: 0,
    prices: {}
  };
  let reply: Reply = { text: '', finished: false };
  await execute(mistral, task, {
    apiKey: fake.key,
    signal: AbortSignal.timeout(20_000),
    write: (event) => {
      reply = readApiEvent(reply, { ...event });
    }
  });
  return reply;
}

function completion(content: string, finish: string, more: object = {}) {
  const message = { role: 'assistant', content };
  return {
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: 'm-1',
    choices: [{ index: 0, message, finish_reason: finish }],
    ...more
  };
}

function piece(content: string) {
  const choice = { index: 0, delta: { content }, finish_reason: null };
  return { id: 'c', model: 'm-1', choices: [choice] };
}

describe('an answer that the SDK rejects', () => {
  test('is read although it has no usage', async () => {
    for (const more of [{}, { usage: null }]) {
      const reply = await ask(false, completion('hi', 'stop', more));
      expect(reply).toEqual({ text: 'hi', finished: true, model: 'm-1' });
    }
  });

  test('keeps the usage that it has', async () => {
    const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
    const answer = { ...completion('hi', 'stop', { usage }), id: undefined };
    expect(await ask(false, answer)).toMatchObject({ text: 'hi', usage });
  });

  test.each([
    ['content_filter', 'content_refused'],
    ['length', 'output_limit']
  ])('ended by %s is %s', async (finish, code) => {
    expect(await ask(false, completion('', finish))).toMatchObject({
      failure: { code }
    });
  });

  test('stays unusable if it contains no answer', async () => {
    expect(await ask(false, { id: 'c', created: 1 })).toMatchObject({
      failure: { code: 'bad_output' }
    });
  });
});

/** Errors as Mistral and compatible servers send them. */
const errors: object[] = [
  { error: { message: 'overloaded', type: 'server_error', code: 503 } },
  { error: 'overloaded' },
  { object: 'error', message: 'overloaded', type: 'internal', code: '3000' }
];

describe.each(errors)('an error in place of an answer: %j', (error) => {
  const failure = {
    code: 'provider_error',
    message:
      'Mistral failed while answering: overloaded (request NUMBER). Spawn it again a little later.'
  };

  test('is reported with the whole message of the provider', async () => {
    const reply = await ask(false, error);
    expect(numberless(reply)).toMatchObject({ text: '', failure });
  });

  test('in the middle, with the text before it', async () => {
    const reply = await ask(true, piece('ha'), piece('lf'), error);
    expect(numberless(reply)).toMatchObject({ text: 'half', failure });
  });
});

test('a rate limit in the middle of an answer is reported as one', async () => {
  const message = 'Rate limit exceeded';
  const reply = await ask(true, piece('half'), { error: { message } });
  expect(reply.failure?.code).toBe('rate_limited');
});

test('pieces with an error of null are pieces', async () => {
  const last = { index: 0, delta: { content: '.' }, finish_reason: 'stop' };
  const end = { id: 'c', model: 'm-1', choices: [last], error: null };
  expect(await ask(true, piece('Two'), end)).toMatchObject({
    text: 'Two.',
    finished: true
  });
});

function numberless(reply: Reply): Reply {
  const message = reply.failure?.message.replace(/request-\d+/, 'NUMBER') ?? '';
  return reply.failure
    ? { ...reply, failure: { ...reply.failure, message } }
    : reply;
}
