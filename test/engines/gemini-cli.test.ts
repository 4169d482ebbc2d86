import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { geminiCli, testWith } from './clis.ts';
import { endingSuite } from './ending-suite.ts';
import { failingSuite } from './failing-suite.ts';
import { limitsSuite } from './limits-suite.ts';
import { sessionSuite } from './session-suite.ts';
import { squadSuite } from './squad-suite.ts';
import { createStage } from './stage.ts';
import { turnSuite } from './turn-suite.ts';

const test = testWith(geminiCli);

turnSuite(geminiCli, { reads: ['GEMINI.md'] });
sessionSuite(geminiCli);
endingSuite(geminiCli);
failingSuite(geminiCli);
squadSuite(geminiCli);
limitsSuite(geminiCli, {
  // It reports the target of a link.
  denied: (_, real) => `write_file: ${real}`,
  settings: '.gemini/settings.json'
});

describe('Gemini CLI', () => {
  test('answers with usage, session and model, and never with a made up cost', async () => {
    const stage = await createStage(geminiCli);
    const result = await stage.run('[[say: Done.]] [[usage: 1200 34 200]]');
    expect(result).toMatchObject({
      agent_type: 'gemini-cli',
      success: true,
      status: 'completed',
      result: 'Done.',
      error: null,
      error_code: null,
      cost_usd: null,
      usage: { prompt_tokens: 1200, completion_tokens: 34, total_tokens: 1234 },
      session_id: expect.stringMatching(/^[0-9a-f-]{36}$/)
    });
    expect(result.model).toMatch(/^gemini-/);
    expect(stage.turns().at(-1)?.model).toBe(result.model);
    const { headers } = stage.model.requests[0] ?? {};
    expect(headers?.['x-goog-api-key']).toBe('test-key');
  });

  test('is reached by the variables a user has', async () => {
    const stage = await createStage(geminiCli, {
      unconfigured: true,
      env: ({ model }) => ({ GOOGLE_GEMINI_BASE_URL: model.url })
    });
    const result = await stage.run('[[say: Hello.]]');
    expect(result).toMatchObject({ success: true, result: 'Hello.' });
  });

  for (const [asked, sent] of [
    ['flash-lite', /^gemini-.*-flash-lite/],
    ['pro', /^gemini-.*-pro/],
    ['my-model', /^my-model$/]
  ] as const)
    test(`the model "${asked}" reaches the API as ${sent}`, async () => {
      const stage = await createStage(geminiCli);
      const result = await stage.run('[[say: Hello.]]', { model: asked });
      expect(result).toMatchObject({
        success: true,
        model: expect.stringMatching(sent)
      });
      expect(stage.turns()).toMatchObject([{ model: result.model }]);
    });

  test('write access edits what is there', async () => {
    const stage = await createStage(geminiCli);
    const file_path = stage.workspace.write('note.txt', 'one\ntwo\n');
    const edit = JSON.stringify({
      file_path,
      instruction: 'Count on.',
      old_string: 'two',
      new_string: 'three'
    });
    const prompt = `[[tool: replace ${edit}]] [[say: Edited.]]`;
    const result = await stage.run(prompt, { access: 'write' });
    expect(result).toMatchObject({ success: true, result: 'Edited.' });
    expect(readFileSync(file_path, 'utf8')).toBe('one\nthree\n');
  });

  test('read access stays that, whatever user and project allow', async () => {
    const stage = await createStage(geminiCli);
    const { workspace } = stage;
    const allowed = ['run_shell_command', 'write_file'];
    const settings = { tools: { allowed } };
    workspace.write('.gemini/settings.json', JSON.stringify(settings));
    const policy = `[[rule]]
toolName = ${JSON.stringify(allowed)}
decision = "allow"
priority = 999
`;
    workspace.write('../home/.gemini/policies/all.toml', policy);
    const file = join(workspace.path, 'no.txt');
    const prompt = `[[shell: echo no > ${file}]] [[write: ${file} | no]]
      [[say: I may not.]]`;
    const result = await stage.run(prompt, { access: 'read' });
    expect(result).toMatchObject({ success: true, result: 'I may not.' });
    expect(existsSync(file)).toBe(false);
  });

  test('a directory that the user does not trust is permission_denied', async () => {
    const stage = await createStage(geminiCli, {
      env: () => ({ GEMINI_CLI_TRUST_WORKSPACE: 'false' })
    });
    const result = await stage.run('hello', { timeout: 20 });
    expect(result).toMatchObject({
      status: 'failed',
      error_code: 'permission_denied'
    });
    expect(stage.bodies()).toEqual([]);
  });

  for (const [has, options] of Object.entries({
    'neither key nor login': { unconfigured: true, unfurnished: true },
    'no key for the login it chose': { unconfigured: true },
    'an address and no login chosen': { unfurnished: true }
  }))
    test(`with ${has} it is not_logged_in`, async () => {
      const without = Object.keys(geminiCli.login);
      const stage = await createStage(geminiCli, { ...options, without });
      const result = await stage.run('hello', { timeout: 20 });
      expect(result).toMatchObject({
        status: 'failed',
        error_code: 'not_logged_in'
      });
    });
});
