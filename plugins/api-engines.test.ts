import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type ApiTask,
  readApiEvent
} from '../src/core/engines/api/api-task.ts';
import { execute } from '../src/core/engines/api/execute.ts';
import type { ApiEngine, Reply } from '../src/plugin/plugin.ts';
import { events, sends } from '../test/provider-fake/answers.ts';
import { type ApiName, apiEngines } from '../test/provider-fake/asked.ts';
import {
  type ProviderFake,
  startProviderFake
} from '../test/provider-fake/fake.ts';
import claudeApi from './claude-api.ts';
import gemini from './gemini.ts';
import grok from './grok.ts';
import mistral from './mistral.ts';
import openai from './openai.ts';
import {
  splitVersion,
  withoutVersion,
  withVersion
} from './shared/api-requests.ts';

const engines: Record<ApiName, ApiEngine> = {
  grok,
  gemini,
  mistral,
  openai,
  'claude-api': claudeApi
};

const fakes = new Map<ApiName, ProviderFake>();

beforeAll(async () => {
  for (const name of apiEngines) fakes.set(name, await startProviderFake(name));
});

afterAll(async () => {
  for (const fake of fakes.values()) await fake.close();
});

/** Asks an engine whose provider answers with these events, or this body. */
async function ask(
  name: ApiName,
  stream: boolean,
  ...answer: object[]
): Promise<Reply> {
  const fake = fakes.get(name);
  fake?.plan('Hi', events(...answer.map((event) => JSON.stringify(event))));
  return askAt(name, stream, fake?.url ?? '');
}

async function askAt(name: ApiName, stream: boolean, baseUrl: string) {
  const engine = engines[name];
  const task: ApiTask = {
    v: 1,
    engine: name,
    label: name,
    plugin: null,
    request: { prompt: 'Hi', model: 'm', turns: [], stream, baseUrl },
    idleTimeoutSeconds: 0,
    prices: {}
  };
  let reply: Reply = { text: '', finished: false };
  await execute(engine, task, {
    apiKey: fakes.get(name)?.key ?? '',
    signal: new AbortController().signal,
    write: (event) => {
      reply = readApiEvent(reply, event);
    }
  });
  return reply;
}

const message = (...content: object[]) => ({
  type: 'message',
  role: 'assistant',
  content
});
const reasoning = {
  type: 'reasoning',
  summary: [{ type: 'summary_text', text: 'In short' }],
  content: [{ type: 'reasoning_text', text: 'Hm.' }]
};

test.each(['grok', 'openai'] as const)(
  '%s: thoughts are not part of the answer',
  async (name) => {
    const said = message({ type: 'output_text', text: 'Two.' });
    const answer = { status: 'completed', output: [reasoning, said] };
    expect(await ask(name, false, answer)).toMatchObject({ text: 'Two.' });
    const end = { type: 'response.completed', response: answer };
    expect(await ask(name, true, end)).toMatchObject({ text: 'Two.' });
  }
);

test.each([
  [
    'content_refused',
    'The model refused: I would rather not.',
    {
      status: 'completed',
      output: [message({ type: 'refusal', refusal: 'I would rather not.' })]
    }
  ],
  [
    'rate_limited',
    'The provider failed while answering: Slower. Spawn it again a little later.',
    {
      status: 'failed',
      output: [],
      error: { code: 'rate_limit_exceeded', message: 'Slower.' }
    }
  ],
  [
    'provider_error',
    'The provider failed while answering: no reason given. Spawn it again a little later.',
    { status: 'cancelled', output: [] }
  ]
])(
  'openai: an answer that ended as %s says so',
  async (code, sentence, answer) => {
    const failure = { code, message: sentence };
    expect(await ask('openai', false, answer)).toMatchObject({ failure });
    const end = { type: 'response.failed', response: answer };
    expect(await ask('openai', true, end)).toMatchObject({ failure });
  }
);

test('grok: a key in an event is redacted before the message is cut', async () => {
  const { key = '' } = fakes.get('grok') ?? {};
  const message = `${'w'.repeat(940)} ${key} ${'v'.repeat(100)}`;
  const { failure } = await ask('grok', true, { type: 'error', message });
  expect(failure?.code).toBe('provider_error');
  expect(failure?.message).toHaveLength(1000);
  expect(failure?.message).toContain('www [redacted] v');
});

test('gemini: a blocked prompt is reported as refused content', async () => {
  const answer = { promptFeedback: { blockReason: 'SAFETY' } };
  for (const stream of [true, false])
    expect(await ask('gemini', stream, answer)).toMatchObject({
      failure: {
        code: 'content_refused',
        message:
          'Google blocked the prompt (SAFETY). Rephrase the prompt, or use another engine.'
      }
    });
});

test('mistral: only the text of an answer in parts is kept', async () => {
  const content = [
    { type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] },
    { type: 'text', text: 'Two.' }
  ];
  const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
  const answer = {
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    usage,
    choices: [
      {
        index: 0,
        finish_reason: 'stop',
        message: { role: 'assistant', content }
      }
    ]
  };
  expect(await ask('mistral', false, answer)).toMatchObject({
    text: 'Two.',
    finished: true,
    usage
  });
});

test('claude-api: thoughts are not part of the answer, and cached tokens are part of the prompt', async () => {
  const answer = {
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [
      { type: 'thinking', thinking: 'Hm.', signature: 's' },
      { type: 'text', text: 'Two.' }
    ],
    stop_reason: 'end_turn',
    usage: {
      input_tokens: 1,
      cache_read_input_tokens: 20,
      cache_creation_input_tokens: 300,
      output_tokens: 4000
    }
  };
  expect(await ask('claude-api', false, answer)).toMatchObject({
    text: 'Two.',
    usage: {
      prompt_tokens: 321,
      completion_tokens: 4000,
      total_tokens: 4321
    },
    cachedTokens: 20
  });
});

test.each(apiEngines)(
  '%s: an address with and without the version is the same',
  async (name) => {
    const fake = fakes.get(name);
    fake?.plan('Hi');
    const version = name === 'gemini' ? 'v1beta' : 'v1';
    for (const end of ['', '/', `/${version}`, `/${version}/`])
      expect(
        await askAt(name, true, `${fake?.url}${end}`),
        `"${end}"`
      ).toMatchObject({ text: 'ok', finished: true });
  }
);

test.each(apiEngines)(
  '%s: a path in front of the address is kept',
  async (name) => {
    const fake = fakes.get(name);
    const before = fake?.requests.length ?? 0;
    fake?.plan('Hi', sends(404, 'no'));
    const version = name === 'gemini' ? 'v1beta' : 'v1';
    await askAt(name, false, `${fake?.url}/proxy/${version}`);
    expect(fake?.requests.slice(before)).toMatchObject([
      { path: expect.stringContaining(`/proxy/${version}/`) }
    ]);
  }
);

test('an address without a version gets one', () => {
  expect(withVersion('https://a.example', 'v1')).toBe('https://a.example/v1');
  expect(withVersion('https://a.example/x/', 'v1')).toBe('https://a.example/x');
  expect(withoutVersion('https://a.example/v1/', 'v1')).toBe(
    'https://a.example'
  );
  expect(splitVersion('https://a.example/x/v1/')).toEqual({
    baseUrl: 'https://a.example/x',
    apiVersion: 'v1'
  });
});
