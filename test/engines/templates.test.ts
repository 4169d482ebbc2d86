import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { startMember } from '../kit/servers/squad-call.ts';
import { claude, codex, type RealCli, testWith } from './clis.ts';
import { resultOf, task, testerBrief } from './squad-stage.ts';
import { createStage, type Stage } from './stage.ts';

/** A stage whose squads run on the template that we ship for its CLI. */
async function templateStage(
  cli: RealCli,
  env: Record<string, string> = {}
): Promise<Stage> {
  const stage = await createStage(cli, {
    // Codex has its address from its own settings alone.
    unconfigured: cli === codex,
    env: ({ model, workspace }) => ({
      RUN_TEMPLATE_PATH: `templates/run-${cli.program}.template`,
      ...(cli === codex ? codexHome(workspace.home, model.url) : {}),
      ...env
    })
  });
  stage.workspace.write('agents/tester.md', testerBrief);
  const head = '---\nmodel: my-model\naccess: read\n---\n';
  stage.workspace.write('agents/reader.md', `${head}You only look.\n`);
  return stage;
}

function codexHome(home: string, url: string): Record<string, string> {
  const CODEX_HOME = join(home, 'codex');
  mkdirSync(CODEX_HOME);
  const address = `openai_base_url = "${url}"\n`;
  writeFileSync(join(CODEX_HOME, 'config.toml'), address);
  return { CODEX_HOME };
}

for (const cli of [claude, codex])
  describe(`the template for ${cli.name}`, () => {
    const test = testWith(cli);

    test('lets it work, and its answer alone is the result', async () => {
      const stage = await templateStage(cli);
      stage.workspace.write('inner/.keep', '');
      const told = '[[shell: printf hi > note.txt]] [[say: Wrote it.]]';
      const one = await startMember(stage.server, {
        ...task(told),
        cwd: 'inner'
      });
      expect(one).toMatchObject({
        status: 'completed',
        rawStdout: 'Wrote it.\n',
        result: 'Wrote it.'
      });
      const file = join(stage.workspace.path, 'inner', 'note.txt');
      expect(readFileSync(file, 'utf8')).toBe('hi');
      expect(stage.turns()[0]?.prompt).toContain(
        `# Role\n\n${testerBrief}\n\n---\n\n# Task\n\n${told}\n\n---\n\n# Setup`
      );
      expect(await resultOf(stage, one)).toMatchObject({
        success: true,
        result: 'Wrote it.'
      });
    });

    test('hands over a task that no argument could hold', async () => {
      const stage = await templateStage(cli);
      const long = `"x" $(id) \`y\` & <z> 'é' --yes\n`.repeat(9000);
      const one = await startMember(
        stage.server,
        task(`[[say: Read.]]\n${long}End.`)
      );
      expect(one).toMatchObject({ status: 'completed', result: 'Read.' });
      expect(stage.turns()[0]?.prompt.includes(long)).toBe(true);
    });

    test('gives a role its model, and holds it to its access', async () => {
      const stage = await templateStage(cli);
      const file = join(stage.workspace.path, 'no.txt');
      const told = `[[shell: echo no > ${file}]] [[say: I may not.]]`;
      const one = await startMember(stage.server, {
        ...task(told),
        roleId: 'reader'
      });
      expect(one).toMatchObject({ status: 'completed', result: 'I may not.' });
      expect(existsSync(file)).toBe(false);
      const models = stage.turns().map(({ model }) => model);
      expect(new Set(models)).toEqual(new Set(['my-model']));
    });

    test('lets a role write that may write', async () => {
      const stage = await templateStage(cli);
      stage.workspace.write('agents/writer.md', '---\naccess: write\n---\nGo.');
      const one = await startMember(stage.server, {
        ...task('[[write: note.txt | hi]] [[say: Wrote it.]]'),
        roleId: 'writer'
      });
      expect(one).toMatchObject({ status: 'completed', result: 'Wrote it.' });
      const file = join(stage.workspace.path, 'note.txt');
      expect(readFileSync(file, 'utf8').trim()).toBe('hi');
    });

    test('passes no failure off as an answer', async () => {
      const stage = await templateStage(cli);
      const one = await startMember(
        stage.server,
        task('[[status: 401 | Wrong key]]')
      );
      expect(one).toMatchObject({ status: 'error', error_code: 'auth' });
    });
  });

describe('chats by the template for claude', () => {
  const test = testWith(claude);

  test('begin with an id of ours, and go on', async () => {
    const stage = await templateStage(claude, { STATE_MODE: 'stateful' });
    const first = await startMember(
      stage.server,
      task('Remember 4711. [[say: I will.]]')
    );
    expect(first).toMatchObject({ status: 'completed', result: 'I will.' });
    const { chatId } = first;
    expect(chatId).toMatch(/^[0-9a-f-]{36}$/);
    await stage.server.close();
    await stage.serve();
    const second = await startMember(
      stage.server,
      task('And? [[say: 4711.]]', chatId)
    );
    expect(second).toMatchObject({
      status: 'completed',
      result: '4711.',
      chatId
    });
    expect(stage.turns().at(-1)?.prompt).toContain('# Task\n\nAnd?');
    const told = stage.bodies().at(-1) ?? '';
    for (const part of ['Remember 4711.', 'I will.', 'And?'])
      expect(told).toContain(part);
    expect(told.split('You test what others wrote.')).toHaveLength(2);
  });

  test('fail when there is no such chat', async () => {
    const stage = await templateStage(claude, { STATE_MODE: 'stateful' });
    const chatId = 'a0000000-0000-4000-8000-000000000000';
    const one = await startMember(stage.server, task('[[say: Hm.]]', chatId));
    expect(one).toMatchObject({ status: 'error', chatId });
    expect(one.rawStderr).toContain('No conversation found');
    expect(stage.bodies()).toEqual([]);
  });
});

describe('chats by the template for codex', () => {
  const test = testWith(codex);

  test('go on, but do not begin', async () => {
    const stage = await templateStage(codex, { STATE_MODE: 'stateful' });
    const none = await startMember(stage.server, task('[[say: Hm.]]'));
    expect(none).toMatchObject({ status: 'error', chatId: null });
    expect(none.error).toContain('it has no newChatId');
    expect(stage.bodies()).toEqual([]);

    const { data } = await stage.server.call('spawn_codex', {
      prompt: 'Remember 4711. [[say: I will.]]'
    });
    const { session_id } = await stage.result(String(data.agent_id));
    const chatId = String(session_id);
    const next = await startMember(
      stage.server,
      task('And? [[say: 4711.]]', chatId)
    );
    expect(next).toMatchObject({
      status: 'completed',
      result: '4711.',
      chatId
    });
    const told = stage.bodies().at(-1) ?? '';
    for (const part of ['Remember 4711.', 'I will.', 'And?'])
      expect(told).toContain(part);
  });
});
