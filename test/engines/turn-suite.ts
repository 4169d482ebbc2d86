import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { type RealCli, testWith } from './clis.ts';
import { createStage } from './stage.ts';

/** One turn of a real CLI: its prompt, its actions and its answer. */
export function turnSuite(cli: RealCli, { reads }: { reads: string[] }): void {
  const test = testWith(cli);

  // Claude Code refuses full access to root unless this is set.
  describe(`a turn${process.getuid?.() === 0 ? ' as root' : ''}`, () => {
    // These directories are not trusted and are no repositories.
    test('full access writes files in the directory asked for', async () => {
      const stage = await createStage(cli);
      stage.workspace.write('deep/er/.keep', '');
      const file = join(stage.workspace.path, 'deep', 'er', 'note.txt');
      const prompt =
        '[[shell: printf %s "$PWD" > note.txt]] [[say: Wrote it.]]';
      const result = await stage.run(prompt, { cwd: 'deep/er' });
      expect(result).toMatchObject({ success: true, result: 'Wrote it.' });
      expect(readFileSync(file, 'utf8')).toBe(join(file, '..'));
    });

    test('write access writes files', async () => {
      const stage = await createStage(cli);
      const file = join(stage.workspace.path, 'note.txt');
      const prompt = `[[write: ${file} | hello]] [[say: Wrote it.]]`;
      const result = await stage.run(prompt, { access: 'write' });
      expect(result).toMatchObject({ success: true, result: 'Wrote it.' });
      expect(readFileSync(file, 'utf8').trim()).toBe('hello');
    });

    for (const action of ['write: FILE | no', 'shell: echo no > FILE'])
      test(`read access leaves the tree alone: ${action}`, async () => {
        const stage = await createStage(cli);
        const { path } = stage.workspace;
        const file = join(path, 'no.txt');
        const before = readdirSync(path);
        const told = action.replace('FILE', file);
        const prompt = `[[${told}]] [[say: I may not.]]`;
        const result = await stage.run(prompt, { access: 'read' });
        expect(result).toMatchObject({ success: true, result: 'I may not.' });
        expect(existsSync(file)).toBe(false);
        // Our own folders appear with the first agent.
        const ours = ['.agents', 'logs'];
        const after = readdirSync(path).filter((name) => !ours.includes(name));
        expect(after).toEqual(before.filter((name) => !ours.includes(name)));
      });

    test('a prompt of 1 MB reaches the model whole', async () => {
      const stage = await createStage(cli);
      const lines = Array.from(
        { length: 16_384 },
        (_, line) => `line ${String(line).padStart(6, '0')} ${'ä'.repeat(26)}`
      );
      const prompt = `${lines.join('\n')}\n[[say: Read it all.]]`;
      expect(Buffer.byteLength(prompt)).toBeGreaterThan(1024 * 1024);
      expect(await stage.run(prompt)).toMatchObject({
        success: true,
        result: 'Read it all.'
      });
      const whole = JSON.stringify(prompt).slice(1, -1);
      expect(stage.bodies().some((body) => body.includes(whole))).toBe(true);
    });

    test('an answer comes back character for character', async () => {
      const stage = await createStage(cli);
      const text = 'Grüße — 日本語 👩‍💻 \\ "quoted" `code` $1 </details>';
      const result = await stage.run(`[[say: ${text}]]`);
      expect(result).toMatchObject({ success: true, result: text });
    });

    test('a repository is worked on like any other directory', async () => {
      const stage = await createStage(cli);
      const { path } = stage.workspace;
      execFileSync('git', ['init', '-q'], { cwd: path });
      const prompt = '[[shell: printf hi > note.txt]] [[say: Wrote it.]]';
      expect(await stage.run(prompt)).toMatchObject({ success: true });
      expect(readFileSync(join(path, 'note.txt'), 'utf8')).toBe('hi');
    });

    test(`what it reads of its directory by itself: ${reads}`, async () => {
      const stage = await createStage(cli);
      const files = ['AGENTS.md', 'CLAUDE.md', 'GEMINI.md'];
      for (const name of files)
        stage.workspace.write(name, `This was read in ${name}.\n`);
      await stage.run('[[say: Hello.]]');
      const body = stage.bodies().at(-1) ?? '';
      const told = files.filter((name) =>
        body.includes(`This was read in ${name}.`)
      );
      expect(told).toEqual(reads);
    });

    test('a CLI that is not installed is told at once', async () => {
      const stage = await createStage(cli, {
        env: ({ workspace }) => ({ PATH: workspace.bin })
      });
      const { data } = await stage.server.call(cli.tool, {
        prompt: 'hello'
      });
      expect(data).toMatchObject({
        status: 'failed',
        error_code: 'not_installed'
      });
    });
  });
}
