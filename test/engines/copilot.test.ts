import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { copilot, testWith } from './clis.ts';
import { endingSuite } from './ending-suite.ts';
import { failingSuite } from './failing-suite.ts';
import { limitsSuite } from './limits-suite.ts';
import { sessionSuite } from './session-suite.ts';
import { squadSuite } from './squad-suite.ts';
import { createStage } from './stage.ts';
import { turnSuite } from './turn-suite.ts';

const test = testWith(copilot);

turnSuite(copilot, { reads: ['AGENTS.md', 'CLAUDE.md', 'GEMINI.md'] });
sessionSuite(copilot);
endingSuite(copilot);
failingSuite(copilot, { 401: 'HTTP 401' });
squadSuite(copilot);
limitsSuite(copilot, {
  denied: (asked) => `create: ${asked}`,
  settings: '../home/.copilot/mcp-config.json'
});

describe('Copilot', () => {
  test('answers with session, model and usage, and never with a made up cost', async () => {
    const stage = await createStage(copilot);
    const result = await stage.run('[[say: Done.]] [[usage: 1200 34 200]]');
    expect(result).toMatchObject({
      agent_type: 'copilot',
      model: 'test-model',
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

  test('is reached by the variables a user has', async () => {
    const stage = await createStage(copilot, {
      unconfigured: true,
      env: ({ model }) => ({ COPILOT_PROVIDER_BASE_URL: model.url })
    });
    const result = await stage.run('[[say: Hello.]]');
    expect(result).toMatchObject({ success: true, result: 'Hello.' });
  });

  for (const [asked, sent] of [
    ['claude-sonnet', 'claude-sonnet-5.5'],
    ['gpt-5', 'gpt-5.5'],
    ['claude-sonnet-5.5', 'claude-sonnet-5.5'],
    ['my-model', 'my-model']
  ] as const)
    test(`the model "${asked}" reaches the API as ${sent}`, async () => {
      const stage = await createStage(copilot);
      const result = await stage.run('[[say: Hello.]]', { model: asked });
      expect(result).toMatchObject({ success: true, model: sent });
      expect(stage.turns()).toMatchObject([{ model: sent }]);
    });

  test('usage is that of each turn, from its own log', async () => {
    const stage = await createStage(copilot);
    const first = await stage.run('[[shell: echo a]] [[say: Hello.]]');
    const id = await stage.resume(String(first.agent_id), '[[say: More.]]');
    const second = await stage.result(id);
    // The model counts 10 and 5 for each of its calls.
    expect([first.usage, second.usage]).toEqual([
      { prompt_tokens: 20, completion_tokens: 10, total_tokens: 30 },
      { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
    ]);
  });

  test('write access edits what is there', async () => {
    const stage = await createStage(copilot);
    const path = stage.workspace.write('note.txt', 'one\ntwo\n');
    const edit = JSON.stringify({ path, old_str: 'two', new_str: 'three' });
    const prompt = `[[tool: edit ${edit}]] [[say: Edited.]]`;
    const result = await stage.run(prompt, { access: 'write' });
    expect(result).toMatchObject({ success: true, result: 'Edited.' });
    expect(readFileSync(path, 'utf8')).toBe('one\nthree\n');
  });

  test('read access stays that, whatever the user allows', async () => {
    const stage = await createStage(copilot, {
      env: () => ({ COPILOT_ALLOW_ALL: 'true' })
    });
    const file = join(stage.workspace.path, 'no.txt');
    const prompt = `[[shell: echo no > ${file}]] [[write: ${file} | no]]
      [[say: I may not.]]`;
    const result = await stage.run(prompt, { access: 'read' });
    expect(result).toMatchObject({ success: true, result: 'I may not.' });
    expect(existsSync(file)).toBe(false);
  });

  test('a prompt that the model has no room for is context_too_long', async () => {
    const stage = await createStage(copilot, {
      env: () => ({ COPILOT_PROVIDER_MAX_PROMPT_TOKENS: '20000' })
    });
    const prompt = 'All these words are meant to be read. '.repeat(10_000);
    const result = await stage.run(prompt, { timeout: 20 });
    expect(result).toMatchObject({
      status: 'failed',
      error_code: 'context_too_long'
    });
  });

  test('without a token or a login it is not_logged_in', async () => {
    const stage = await createStage(copilot, {
      unconfigured: true,
      without: Object.keys(copilot.login)
    });
    const result = await stage.run('hello', { timeout: 20 });
    expect(result).toMatchObject({
      status: 'failed',
      error_code: 'not_logged_in'
    });
  });
});
