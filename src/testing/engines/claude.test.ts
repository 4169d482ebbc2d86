import { describe, expect } from 'vitest';
import { claude, testWith } from './clis.ts';
import { endingSuite } from './ending-suite.ts';
import { sessionSuite } from './session-suite.ts';
import { createStage } from './stage.ts';
import { turnSuite } from './turn-suite.ts';

const test = testWith(claude);
const closedPort = 'http://127.0.0.1:9';

turnSuite(claude);
sessionSuite(claude);
endingSuite(claude);

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

  for (const [name, prompt, error_code, error] of [
    ['400', '[[status: 400 | Bad]]', 'provider_error', /400 Bad/],
    ['401', '[[status: 401 | Wrong key]]', 'auth', /401 Wrong key/],
    ['402', '[[status: 402 | Pay first]]', 'quota', /402 Pay first/],
    ['404', '[[status: 404 | No]]', 'model_not_found', /selected model/],
    ['429', '[[status: 429 | Slow down]]', 'rate_limited', /Slow down/],
    ['500', '[[status: 500 | Broken]]', 'provider_error', /500 Broken/],
    ['529', '[[status: 529 | Overloaded]]', 'provider_error', /529/]
  ] as const)
    test(`the API's ${name} is ${error_code} within 20 s`, async () => {
      const stage = await createStage(claude);
      const result = await stage.run(prompt, { timeout: 20 });
      expect(result).toMatchObject({ status: 'failed', error_code });
      expect(result.error).toMatch(error);
    });

  test('a refused connection is network within 20 s', async () => {
    const stage = await createStage(claude, { baseUrl: closedPort });
    const result = await stage.run('hello', { timeout: 20 });
    expect(result).toMatchObject({ status: 'failed', error_code: 'network' });
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
