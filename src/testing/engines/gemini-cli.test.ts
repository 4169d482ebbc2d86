import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { geminiCli, testWith } from './clis.ts';
import { endingSuite } from './ending-suite.ts';
import { failingSuite } from './failing-suite.ts';
import { sessionSuite } from './session-suite.ts';
import { createStage } from './stage.ts';
import { turnSuite } from './turn-suite.ts';

const troupe = join(import.meta.dirname, '../../../dist/troupe.cjs');
const server = [troupe, 'mcp', '--engines', 'rehearsal'];
const test = testWith(geminiCli);

turnSuite(geminiCli, { reads: ['GEMINI.md'] });
sessionSuite(geminiCli);
endingSuite(geminiCli);
failingSuite(geminiCli);

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

  test('write access has no shell, and ends at the directory', async () => {
    const stage = await createStage(geminiCli);
    const { path, home } = stage.workspace;
    symlinkSync(home, join(path, 'link'));
    const inside = join(path, 'no.txt');
    const outside = [join(home, 'no.txt'), join(path, 'link', 'no.txt')];
    const prompt = `[[shell: echo no > ${inside}]]
      [[write: ${outside[0]} | no]] [[write: ${outside[1]} | no]]
      [[say: I may not.]]`;
    const result = await stage.run(prompt, { access: 'write' });
    expect(result).toMatchObject({
      success: true,
      result: 'I may not.',
      // Where a link leads is what it tells.
      denials: outside.map(() => `write_file: ${outside[0]}`)
    });
    expect([inside, ...outside].filter(existsSync)).toEqual([]);
  });

  test('read access ends at the directory, also behind a link', async () => {
    const stage = await createStage(geminiCli);
    const { path, home } = stage.workspace;
    symlinkSync(home, join(path, 'link'));
    stage.workspace.write('../home/told.txt', 'not to be told');
    stage.workspace.write('told.txt', 'to be told');
    const files = [home, join(path, 'link'), path].map((folder) =>
      join(folder, 'told.txt')
    );
    const reads = files.map((file) => `[[read: ${file}]]`).join(' ');
    const prompt = `${reads} [[say: I have looked.]]`;
    const result = await stage.run(prompt, { access: 'read' });
    expect(result).toMatchObject({ success: true, result: 'I have looked.' });
    expect(result.denials).toHaveLength(2);
    const seen = stage.turns().at(-1)?.toolResults ?? [];
    expect(seen.map((text) => /(not )?to be told/.exec(text)?.[0])).toEqual([
      undefined,
      undefined,
      'to be told'
    ]);
  });

  test('only full access has MCP servers', async () => {
    const stage = await createStage(geminiCli);
    const mcpServers = { agents: { command: 'node', args: server } };
    const settings = JSON.stringify({ mcpServers });
    stage.workspace.write('.gemini/settings.json', settings);
    const offered: Record<string, boolean> = {};
    for (const access of ['read', 'write', 'full']) {
      await stage.run('[[say: Hello.]]', { access });
      const { tools = [] } = stage.turns().at(-1) ?? {};
      offered[access] = tools.some((name) => name.includes('agents'));
    }
    expect(offered).toEqual({ read: false, write: false, full: true });
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
