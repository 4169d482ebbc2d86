import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseIac } from '../../kit/judges/iac-parser.ts';
import { until } from '../../kit/judges/until.ts';
import type { McpClient } from '../../kit/servers/mcp-client.ts';
import {
  type ApiWorkspace,
  createApiWorkspace,
  ended,
  spawnApi
} from '../../kit/workspaces/api-workspace.ts';
import { events, says } from '../../provider-fake/answers.ts';
import { type ApiName, apiEngines } from '../../provider-fake/asked.ts';

const tokens = { input: 1000, output: 500, cached: 0 };
const usage = {
  prompt_tokens: 1000,
  completion_tokens: 500,
  total_tokens: 1500
};

/** What the default asks for, another model that answers, and its price. */
const models: [engine: ApiName, asked: string, told: string, usd: number][] = [
  ['grok', 'grok-4.7', 'grok-4.6', 0.005],
  ['gemini', 'gemini-3.8-flash', 'gemini-3.8-flash', 0.002625],
  ['mistral', 'mistral-large-latest', 'mistral-large-2512', 0.00125],
  ['openai', 'gpt-5.6-sol', 'gpt-6-sol', 0.007],
  ['claude-api', 'claude-sonnet-5-5', 'claude-opus-5-5', 0.014]
];

let workspace: ApiWorkspace;
let server: McpClient;

beforeAll(async () => {
  workspace = await createApiWorkspace();
  server = await workspace.start();
});

afterAll(async () => {
  expect(server.impurities).toEqual([]);
  expect(server.stderr).toBe('');
  await workspace.close();
});

async function ask(
  engine: ApiName,
  prompt: string,
  more: Record<string, unknown> = {}
) {
  return ended(server, await spawnApi(server, engine, prompt, more));
}

describe.each([
  ['streams', true],
  ['does not stream', false]
])('an engine that %s', (_how, stream) => {
  let own: McpClient;

  beforeAll(async () => {
    workspace.configure({}, { stream });
    own = await workspace.start();
  });

  afterAll(() => workspace.configure({}));

  test.each(models)(
    '%s: asks %s, and reports what %s said and what it cost',
    async (engine, asked, told, usd) => {
      const fake = workspace.fakes[engine];
      const prompt = `What is 1 + 1? ${stream}`;
      fake.plan(prompt, says('Two. 한글 😀', { model: told, tokens }));
      const system_prompt = 'Be brief.\n"Always."';
      const id = await spawnApi(own, engine, prompt, { system_prompt });
      expect(await ended(own, id)).toMatchObject({
        agent_type: engine,
        success: true,
        status: 'completed',
        result: 'Two. 한글 😀',
        error: null,
        error_code: null,
        model: told,
        usage,
        cost_usd: usd,
        session_id: id
      });
      const [request] = fake.asked(prompt);
      expect(fake.asked(prompt)).toHaveLength(1);
      expect(request).toMatchObject({
        model: asked,
        system: system_prompt,
        said: [{ by: 'user', text: prompt }],
        stream,
        key: fake.key
      });
      if (engine === 'grok' || engine === 'openai')
        expect(request?.body.store).toBe(false);
    }
  );
});

describe('no cost is reported', () => {
  test.each([
    ['grok', 'grok-4.7'],
    ['grok', 'grok-latest'],
    ['mistral', 'mistral-large-latest'],
    ['mistral', 'mistral-large-2407'],
    ['openai', 'gpt-6.1-sol'],
    ['claude-api', 'claude-sonnet-5-5']
  ] as const)(
    'for %s by %s, whose price is not known',
    async (engine, model) => {
      const prompt = `As ${model}`;
      workspace.fakes[engine].plan(prompt, says('ok', { model, tokens }));
      expect(await ask(engine, prompt)).toMatchObject({
        model,
        usage,
        cost_usd: null
      });
    }
  );
});

test("the user's own prices come first", async () => {
  const prices = { 'grok-4.7': { input: 1, output: 2, cached: 0.5 } };
  workspace.configure({ prices });
  const own = await workspace.start();
  const cached = { input: 1000, output: 500, cached: 400 };
  workspace.fakes.grok.plan('Own price', says('ok', { tokens: cached }));
  const id = await spawnApi(own, 'grok', 'Own price');
  expect(await ended(own, id)).toMatchObject({ usage, cost_usd: 0.0018 });
  workspace.configure({});
});

test('thoughts count as answered tokens, and are not part of the answer', async () => {
  const parts = [
    { thought: true, text: 'Hm.' },
    { text: 'Two' },
    { text: '.' }
  ];
  const usageMetadata = {
    promptTokenCount: 10,
    candidatesTokenCount: 5,
    thoughtsTokenCount: 7,
    totalTokenCount: 22
  };
  const candidates = [
    { content: { role: 'model', parts }, finishReason: 'STOP' }
  ];
  const answer = { candidates, usageMetadata, modelVersion: 'g' };
  workspace.fakes.gemini.plan('Think', events(JSON.stringify(answer)));
  expect(await ask('gemini', 'Think')).toMatchObject({
    result: 'Two.',
    usage: { prompt_tokens: 10, completion_tokens: 12, total_tokens: 22 }
  });
});

test.each([
  ['grok', 'grok-3', 'grok-4.7'],
  ['grok', 'grok-3-fast', 'grok-4.7'],
  ['gemini', 'gemini-2.0-flash', 'gemini-3.8-flash'],
  ['gemini', 'pro', 'gemini-3.1-pro-preview'],
  ['mistral', 'codestral', 'codestral-latest'],
  ['openai', 'gpt-next', 'gpt-next'],
  ['claude-api', 'opus', 'claude-opus-5-5'],
  ['gemini', 'gemini-next', 'gemini-next']
] as const)(
  '%s: the model "%s" is asked for as "%s"',
  async (engine, model, sent) => {
    const prompt = `By ${model}`;
    expect(await ask(engine, prompt, { model })).toMatchObject({
      status: 'completed',
      model: sent
    });
    expect(workspace.fakes[engine].asked(prompt)).toMatchObject([
      { model: sent }
    ]);
  }
);

test('a request id asks once', async () => {
  const again = { request_id: 'the same' };
  const id = await spawnApi(server, 'grok', 'Once', again);
  await ended(server, id);
  const { data } = await server.call('spawn_grok', {
    prompt: 'Once',
    ...again
  });
  expect(data).toMatchObject({ agent_id: id, status: 'completed' });
  expect(workspace.fakes.grok.asked('Once')).toHaveLength(1);
});

test.each(apiEngines)('%s takes a prompt of 1 MB whole', async (engine) => {
  const line = '--yes "quoted" \'single\' \\ $HOME 한글 😀 é\r\n\t';
  const prompt = line.repeat(Math.ceil(1_050_000 / Buffer.byteLength(line)));
  expect(await ask(engine, prompt)).toMatchObject({ status: 'completed' });
  expect(workspace.fakes[engine].asked(prompt)).toHaveLength(1);
});

test.each(apiEngines)('%s: an answer of 5 MB is kept whole', async (engine) => {
  const answer = 'Großes 😀\n'.repeat(500_000);
  workspace.fakes[engine].plan('Much', says(answer));
  const told = await ask(engine, 'Much');
  expect(told).toMatchObject({
    status: 'completed',
    truncated: true,
    total_chars: answer.length
  });
  const { agent_id, full_output } = told;
  const folder = join(workspace.record, 'spawns', String(agent_id));
  const kept = readFileSync(join(folder, 'result.txt'), 'utf8');
  expect(kept === answer).toBe(true);
  const page = readFileSync(String(full_output), 'utf8');
  expect(page.includes(`\n${answer}\n`)).toBe(true);
});

test('list, wait_for_agents and IAC.md know agents of an API', async () => {
  const model = 'grok-4.6';
  workspace.fakes.grok.plan('For the log', says('Noted', { model, tokens }));
  const id = await spawnApi(server, 'grok', 'For the log');
  const { data } = await server.call('wait_for_agents', { agent_ids: [id] });
  expect(data).toMatchObject({
    status: 'all_completed',
    results: [{ agent_id: id, result: 'Noted', cost_usd: 0.005 }]
  });
  const { data: list } = await server.call('list');
  expect(list.completed_ids).toContain(id);
  const entry = await until('its entry', () => {
    const text = readFileSync(join(workspace.path, 'logs', 'IAC.md'), 'utf8');
    return parseIac(text).entries.find((one) => one.id === id && one.done);
  });
  expect(entry).toMatchObject({
    title: 'For the log',
    word: 'Done',
    cost: '0.0050',
    engine: 'Grok (grok-4.6) [API]',
    input: { text: 'For the log' },
    output: { text: 'Noted' }
  });
});
