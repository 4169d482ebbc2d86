import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { until } from '../until.ts';
import { codex, testWith } from './clis.ts';
import { endingSuite } from './ending-suite.ts';
import { sessionSuite } from './session-suite.ts';
import { createStage } from './stage.ts';
import { turnSuite } from './turn-suite.ts';

const test = testWith(codex);
const closedPort = 'http://127.0.0.1:9';

turnSuite(codex);
sessionSuite(codex);
endingSuite(codex);

describe('Codex', () => {
  test('answers with usage and session, and never with a made up cost', async () => {
    const stage = await createStage(codex);
    const result = await stage.run('[[say: Done.]] [[usage: 1200 34 200]]');
    expect(result).toMatchObject({
      agent_type: 'codex',
      model: 'default',
      success: true,
      status: 'completed',
      result: 'Done.',
      error: null,
      error_code: null,
      cost_usd: null,
      usage: { prompt_tokens: 1200, completion_tokens: 34, total_tokens: 1234 },
      session_id: expect.stringMatching(/^[0-9a-f-]{36}$/)
    });
    const { authorization } = stage.model.requests[0]?.headers ?? {};
    expect(authorization).toBe('Bearer test-key');
  });

  test('is reached by the CODEX_HOME a user has', async () => {
    const stage = await createStage(codex, {
      unconfigured: true,
      env: ({ model, workspace }) => {
        const CODEX_HOME = join(workspace.home, 'my-codex');
        mkdirSync(CODEX_HOME);
        const address = `openai_base_url = "${model.url}"\n`;
        writeFileSync(join(CODEX_HOME, 'config.toml'), address);
        return { CODEX_HOME };
      }
    });
    const result = await stage.run('[[say: Hello.]]');
    expect(result).toMatchObject({ success: true, result: 'Hello.' });
  });

  test('a model that is asked for reaches the API by its name', async () => {
    const stage = await createStage(codex);
    const told = '[[status: 404 | The model `my-model` does not exist]]';
    const result = await stage.run(told, { model: 'my-model' });
    expect(result).toMatchObject({
      status: 'failed',
      error_code: 'model_not_found',
      model: 'my-model'
    });
    const body = stage.model.requests.at(-1)?.body;
    expect(body).toMatchObject({ model: 'my-model' });
  });

  for (const [name, prompt, error_code, error] of [
    ['400', '[[status: 400 | Bad]]', 'provider_error', /^Bad$/],
    ['401', '[[status: 401 | Wrong key]]', 'auth', /401.*Wrong key/],
    ['402', '[[status: 402 | Pay first]]', 'quota', /402.*Pay first/],
    ['429', '[[status: 429 | Slow down]]', 'rate_limited', /429/]
  ] as const)
    test(`the API's ${name} is ${error_code} within 20 s`, async () => {
      const stage = await createStage(codex);
      const result = await stage.run(prompt, { timeout: 20 });
      expect(result).toMatchObject({ status: 'failed', error_code });
      expect(result.error).toMatch(error);
    });

  // Five retries with growing pauses, which no flag changes.
  test("the API's 500 is provider_error, though only after 25 s", async () => {
    const stage = await createStage(codex);
    const result = await stage.run('[[status: 500 | Broken]]');
    expect(result).toMatchObject({
      status: 'failed',
      error_code: 'provider_error'
    });
  });

  test('a refused connection is waited out to the timeout, and told', async () => {
    const stage = await createStage(codex, { baseUrl: closedPort });
    const id = await stage.start('hello', { timeout: 14 });
    const waiting = expect.stringContaining('waiting for network');
    await until(
      'word of the network',
      async () => {
        const { data } = await stage.server.call('result', { agent_id: id });
        return String(data.progress).includes('waiting') || undefined;
      },
      14_000
    );
    expect(await stage.result(id)).toMatchObject({
      status: 'timeout',
      error_code: 'timeout',
      error: waiting
    });
  });

  test('without a key or a login it is not_logged_in', async () => {
    const stage = await createStage(codex, { without: ['CODEX_API_KEY'] });
    // What the real API says to a request without a key.
    const prompt = '[[status: 401 | Missing bearer or basic authentication]]';
    const result = await stage.run(prompt, { timeout: 20 });
    expect(result).toMatchObject({
      status: 'failed',
      error_code: 'not_logged_in'
    });
    const { authorization } = stage.model.requests[0]?.headers ?? {};
    expect(authorization).toBeUndefined();
  });

  test('a request that fails once is tried again', async () => {
    const stage = await createStage(codex);
    const result = await stage.run('[[status: 500 1]] [[say: At last.]]');
    expect(result).toMatchObject({ success: true, result: 'At last.' });
  });
});
