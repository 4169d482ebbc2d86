import { describe, expect } from 'vitest';
import { claude, testWith } from './clis.ts';
import { endingSuite } from './ending-suite.ts';
import { failingSuite } from './failing-suite.ts';
import { sessionSuite } from './session-suite.ts';
import { squadSuite } from './squad-suite.ts';
import { createStage } from './stage.ts';
import { turnSuite } from './turn-suite.ts';

const test = testWith(claude);

turnSuite(claude, { reads: ['CLAUDE.md'] });
sessionSuite(claude);
endingSuite(claude);
failingSuite(claude);
squadSuite(claude);

describe('Claude Code', () => {
  test('answers with usage, cost and session', async () => {
    const stage = await createStage(claude);
    const result = await stage.run('[[say: Done.]] [[usage: 1200 34 200]]');
    expect(result).toMatchObject({
      agent_type: 'claude',
      success: true,
      status: 'completed',
      result: 'Done.',
      error: null,
      error_code: null,
      usage: { prompt_tokens: 1200, completion_tokens: 34, total_tokens: 1234 },
      session_id: expect.stringMatching(/^[0-9a-f-]{36}$/)
    });
    expect(result.model).toMatch(/^claude-sonnet-/);
    expect(result.cost_usd).toBeGreaterThan(0);
    expect(stage.model.requests[0]?.headers['x-api-key']).toBe('test-key');
  });

  test('is reached by the variables a user has', async () => {
    const stage = await createStage(claude, {
      unconfigured: true,
      env: ({ model }) => ({ ANTHROPIC_BASE_URL: model.url })
    });
    const result = await stage.run('[[say: Hello.]]');
    expect(result).toMatchObject({ success: true, result: 'Hello.' });
  });

  for (const [asked, sent] of [
    ['haiku', /^claude-haiku-/],
    ['opus', /^claude-opus-/],
    ['claude-sonnet-4-6', /^claude-sonnet-4-6$/],
    ['bad-model', /^bad-model$/]
  ] as const)
    test(`the model "${asked}" reaches the API as ${sent}`, async () => {
      const stage = await createStage(claude);
      await stage.run('[[say: Hello.]]', { model: asked });
      const body = stage.model.requests.at(-1)?.body;
      expect(body).toMatchObject({ model: expect.stringMatching(sent) });
    });

  test('529 is provider_error within 20 s', async () => {
    const stage = await createStage(claude);
    const prompt = '[[status: 529 | Overloaded]]';
    const result = await stage.run(prompt, { timeout: 20 });
    expect(result).toMatchObject({
      status: 'failed',
      error_code: 'provider_error',
      error: expect.stringContaining('529')
    });
  });

  test('without a key or a login it is not_logged_in', async () => {
    const stage = await createStage(claude, { without: ['ANTHROPIC_API_KEY'] });
    const result = await stage.run('hello', { timeout: 20 });
    expect(result).toMatchObject({
      status: 'failed',
      error_code: 'not_logged_in'
    });
  });

  test('a request that fails twice is tried again', async () => {
    const stage = await createStage(claude);
    const result = await stage.run('[[status: 500 2]] [[say: At last.]]');
    expect(result).toMatchObject({ success: true, result: 'At last.' });
  });
});
