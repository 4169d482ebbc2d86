import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { codex, testWith } from './clis.ts';
import { endingSuite } from './ending-suite.ts';
import { failingSuite } from './failing-suite.ts';
import { sessionSuite } from './session-suite.ts';
import { squadSuite } from './squad-suite.ts';
import { createStage } from './stage.ts';
import { turnSuite } from './turn-suite.ts';

const test = testWith(codex);

turnSuite(codex, { reads: ['AGENTS.md'] });
sessionSuite(codex);
endingSuite(codex);
failingSuite(codex, { 429: 'last status: 429', 500: 'high demand' });
squadSuite(codex, { missingChat: 'begins another' });

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
});
