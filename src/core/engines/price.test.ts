import { expect, test } from 'vitest';
import type { Reply } from '../../plugin/plugin.ts';
import { costOf } from './price.ts';

function reply(model: string | undefined, more: Partial<Reply> = {}): Reply {
  return {
    text: 'ok',
    finished: true,
    ...(model === undefined ? {} : { model }),
    usage: {
      prompt_tokens: 1000,
      completion_tokens: 500,
      total_tokens: 1500
    },
    ...more
  };
}

test.each([
  ['x-ai', 'grok-4.6', 0.005],
  ['x-ai', 'grok-4-0709', 0.0105],
  ['google', 'gemini-3.8-flash', 0.002625],
  ['google', 'gemini-3.8-flash-001', 0.002625],
  ['mistral', 'mistral-large-2512', 0.00125],
  ['anthropic', 'claude-opus-5-5', 0.014],
  ['anthropic', 'claude-opus-5-5-20261001', 0.014],
  ['openai', 'gpt-5.6-sol', 0.014],
  ['openai', 'gpt-5.6-sol-2026-08-01', 0.014]
])('%s: %s has its published price', async (provider, model, cost) => {
  expect(await costOf(reply(model), provider, {})).toBe(cost);
});

test.each([
  ['mistral', 'mistral-large-latest'],
  ['mistral', 'mistral-large-2407'],
  ['mistral', 'mistral-large-4'],
  ['x-ai', 'grok-latest'],
  ['x-ai', 'grok-4.7'],
  ['anthropic', 'claude-sonnet-5-5'],
  ['anthropic', 'claude-haiku-5-5'],
  ['openai', 'gpt-6.1-sol'],
  ['google', 'gemini-4-argon'],
  ['no-such-provider', 'gpt-5.6-sol'],
  [undefined, 'gpt-5.6-sol']
])('%s: %s has no price although similar names do', async (provider, model) => {
  expect(await costOf(reply(model), provider, {})).toBeUndefined();
});

test('an answer without a model or tokens has no price', async () => {
  const { usage, ...bare } = reply('gpt-5.6-sol');
  expect(usage).toBeDefined();
  expect(await costOf(bare, 'openai', {})).toBeUndefined();
  expect(await costOf(reply(undefined), 'openai', {})).toBeUndefined();
});

test('a cost reported by the engine comes first', async () => {
  const own = { 'gpt-5.6-sol': { input: 9, output: 9 } };
  const reported = reply('gpt-5.6-sol', { costUsd: 0 });
  expect(await costOf(reported, 'openai', own)).toBe(0);
});

test("the user's prices come before the published ones, also for dated names", async () => {
  const own = {
    'gpt-5.6': { input: 7, output: 7 },
    'gpt-5.6-sol': { input: 1, output: 2 },
    'gpt-5.6-sol-2026-09-09': { input: 3, output: 4 }
  };
  const costs = ['gpt-5.6-sol', 'gpt-5.6-sol-2026-08-01'].map((model) =>
    costOf(reply(model), 'openai', own)
  );
  expect(await Promise.all(costs)).toEqual([0.002, 0.002]);
  const exact = reply('gpt-5.6-sol-2026-09-09');
  expect(await costOf(exact, 'openai', own)).toBe(0.005);
});

test('cached tokens have their own price, or else the input price', async () => {
  const cached = reply('m', { cachedTokens: 400 });
  const price = { input: 10, output: 0 };
  expect(await costOf(cached, undefined, { m: price })).toBe(0.01);
  const cheaper = { m: { ...price, cached: 1 } };
  expect(await costOf(cached, undefined, cheaper)).toBe(0.0064);
  const tooMany = reply('m', { cachedTokens: 9999 });
  expect(await costOf(tooMany, undefined, cheaper)).toBe(0.001);
});

test('property names of every object are not prices', async () => {
  for (const model of ['constructor', '__proto__', 'toString'])
    expect(await costOf(reply(model), undefined, {})).toBeUndefined();
});

test.each([1e300, Number.MAX_VALUE])(
  'a price of %d leads to no cost, as no journal could record it',
  async (price) => {
    const own = { m: { input: price, output: price } };
    expect(await costOf(reply('m'), undefined, own)).toBeUndefined();
  }
);
