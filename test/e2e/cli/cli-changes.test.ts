import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { runCommand } from '../../kit/servers/command-line.ts';
import { testEnvironment } from '../../kit/servers/mcp-client.ts';
import {
  createGitWorkspace,
  type GitWorkspace
} from '../../kit/workspaces/git-workspace.ts';
import { createTempWorkspace } from '../../kit/workspaces/temp-workspace.ts';

const program = join(import.meta.dirname, '../../../dist/troupe.cjs');

let workspace: GitWorkspace;

beforeEach(() => {
  workspace = createGitWorkspace();
});

afterEach(() => workspace.remove());

const troupe = (...args: string[]) => runCommand(workspace, args);

/** An agent that has run the shell script; its id. */
async function ran(script: string, ...flags: string[]): Promise<string> {
  const run = await troupe('run', 'shell', script, ...flags, '--json');
  expect(run.code).toBe(0);
  return JSON.parse(run.stdout).agent_id;
}

const isolated = (script: string) => ran(script, '--isolate');

const contentOf = (path: string) =>
  readFileSync(join(workspace.path, path), 'utf8');

const status = () => workspace.git('status', '--porcelain');

/** Runs a line of a shell in which `troupe` is the built command. */
function inShell(line: string, directory = workspace.path): string {
  const script = `troupe() { node ${program} "$@"; }; ${line}`;
  return execFileSync('/bin/sh', ['-ec', script], {
    cwd: directory,
    env: testEnvironment(workspace),
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe']
  });
}

const edit = 'sed -i.bak s/two/TWO/ readme.txt; rm readme.txt.bak';
const create = 'printf "a\\nb\\n" >new.txt; printf "\\000\\377" >blob.bin';

describe('diff', () => {
  test('prints a patch that git apply takes through a pipe', async () => {
    const id = await isolated(`${edit}; ${create}; echo done`);
    expect(contentOf('readme.txt')).toBe('one\ntwo\nthree\n');
    inShell(`troupe diff ${id} | git apply`);
    expect(contentOf('readme.txt')).toBe('one\nTWO\nthree\n');
    expect(contentOf('new.txt')).toBe('a\nb\n');
    expect(readFileSync(join(workspace.path, 'blob.bin'))).toEqual(
      Buffer.from([0, 255])
    );
  });

  test('of an agent in the workspace takes its changes back with -R', async () => {
    const id = await ran(`${edit}; echo done`);
    inShell(`troupe diff ${id.slice(0, 5)} | git apply -R`);
    expect(contentOf('readme.txt')).toBe('one\ntwo\nthree\n');
    expect(status()).toBe('');
  });

  test('--json names the files and the patch', async () => {
    const id = await isolated(`${edit}; echo done`);
    const { code, stdout } = await troupe('diff', id, '--json');
    expect(code).toBe(0);
    const document = JSON.parse(stdout);
    expect(document).toMatchObject({
      agent_id: id,
      status: 'completed',
      files_changed: [{ path: 'readme.txt', added: 1, removed: 1 }],
      worktree: { branch: `troupe/${id}` }
    });
    expect(readFileSync(document.diff, 'utf8')).toContain('+TWO');
  });

  test('of an agent without changes prints nothing', async () => {
    const id = await isolated('echo done');
    expect(await troupe('diff', id)).toMatchObject({
      code: 0,
      stdout: '',
      stderr: expect.stringContaining('changed no files')
    });
  });

  test('waits for the end of an agent that works still', async () => {
    const started = await troupe('run', 'shell', 'sleep 60', '-b');
    const id = started.stdout.trim();
    for (const command of ['diff', 'apply']) {
      const running = await troupe(command, id);
      expect(running).toMatchObject({ code: 3, stdout: '' });
      expect(running.stderr).toContain('is running');
    }
    await troupe('cancel', id);
  });

  test.each(['diff', 'apply'])('%s refuses an unknown id', async (command) => {
    const unknown = await troupe(command, '12345678', '--json');
    expect(unknown.code).toBe(1);
    expect(JSON.parse(unknown.stdout).error.code).toBe('unknown_agent');
  });

  test('outside a git repository says that nothing was compared', async () => {
    const plain = createTempWorkspace();
    const ran = await runCommand(plain, ['run', 'rehearsal', 'say hi', '-b']);
    const id = ran.stdout.trim();
    await runCommand(plain, ['wait', id]);
    for (const command of ['diff', 'apply'])
      expect(await runCommand(plain, [command, id])).toMatchObject({
        code: 1,
        stdout: '',
        stderr: expect.stringContaining('outside a git repository')
      });
    plain.remove();
  });
});

describe('apply', () => {
  test('applies the changes of an isolated agent, and commits nothing', async () => {
    const id = await isolated(`${edit}; ${create}; echo done`);
    const head = workspace.git('rev-parse', 'HEAD');
    workspace.write('mine.txt', 'of my own\n');
    const applied = await troupe('apply', id);
    expect(applied.code).toBe(0);
    expect(applied.stdout).toContain('blob.bin, new.txt, readme.txt');
    expect(contentOf('readme.txt')).toBe('one\nTWO\nthree\n');
    expect(contentOf('mine.txt')).toBe('of my own\n');
    expect(status().split('\n').sort().join('\n')).toBe(
      '\n?? mine.txt\nA  blob.bin\nA  new.txt\nM  readme.txt'
    );
    expect(workspace.git('rev-parse', 'HEAD')).toBe(head);

    const again = await troupe('apply', id, '--json');
    expect(again.code).toBe(1);
    expect(JSON.parse(again.stdout)).toMatchObject({ status: 'nothing' });
  });

  test('merges with commits that came meanwhile, also from a subdirectory', async () => {
    workspace.write('sub/long.txt', 'a\nb\nc\nd\ne\nf\ng\nh\n');
    workspace.commit('long');
    const id = await isolated(
      'sed -i.bak s/h/H/ sub/long.txt; rm sub/*.bak; echo done'
    );
    workspace.write('sub/long.txt', 'zero\na\nB\nc\nd\ne\nf\ng\nh\n');
    workspace.commit('meanwhile');
    inShell(`troupe apply ${id} --workspace ..`, join(workspace.path, 'sub'));
    expect(contentOf('sub/long.txt')).toBe('zero\na\nB\nc\nd\ne\nf\ng\nH\n');
  });

  test.each([
    ['a line', () => workspace.write('readme.txt', 'one\n2\nthree\n')],
    ['the file', () => rmSync(join(workspace.path, 'readme.txt'))]
  ])(
    'leaves the tree as it is if %s was changed meanwhile',
    async (_, change) => {
      const id = await isolated(`${edit}; ${create}; echo done`);
      change();
      workspace.commit('meanwhile');
      const refused = await troupe('apply', id);
      expect(refused).toMatchObject({ code: 1, stdout: '' });
      expect(refused.stderr).toMatch(
        /conflict .*readme\.txt.*Nothing was changed/
      );
      expect(status()).toBe('');
      const { stdout } = await troupe('apply', id, '--json');
      expect(JSON.parse(stdout)).toMatchObject({ status: 'conflict' });
    }
  );

  test.each([
    ['edits', 'readme.txt', edit],
    ['an untracked file', 'new.txt', create]
  ])(
    'refuses where %s of the user would be in the way',
    async (_, path, script) => {
      const id = await isolated(`${script}; echo done`);
      workspace.write(path, 'mine\n');
      const before = status();
      const refused = await troupe('apply', id, '--json');
      expect(refused.code).toBe(1);
      expect(JSON.parse(refused.stdout)).toMatchObject({
        status: 'overlap',
        files: [path]
      });
      expect(refused.stderr).toContain('Commit or stash');
      expect(contentOf(path)).toBe('mine\n');
      expect(status()).toBe(before);
    }
  );

  test('does not overwrite an ignored file', async () => {
    workspace.write('.gitignore', '*.log\n');
    workspace.commit('ignore');
    const script = 'echo new >a.log; git add -f a.log; echo done';
    const id = await isolated(script);
    writeFileSync(join(workspace.path, 'a.log'), 'mine\n');
    const refused = await troupe('apply', id);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(contentOf('a.log')).toBe('mine\n');
    expect(status()).toBe('');
  });

  test('names an untracked directory in place of a new file', async () => {
    const id = await isolated(`${edit}; ${create}; echo done`);
    workspace.write('new.txt/mine', 'mine\n');
    const refused = await troupe('apply', id);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toMatch(/in the way .*: new\.txt\/\. Nothing was/);
    expect(status()).toBe('?? new.txt/\n');
  });

  test('refuses files that a filter changes, and names the worktree', async () => {
    for (const key of ['clean', 'smudge'])
      workspace.git('config', `filter.crypt.${key}`, 'tr a-z b-za');
    workspace.write('.gitattributes', '*.txt filter=crypt\n');
    workspace.commit('filter');
    const id = await isolated(`${edit}; ${create}; echo done`);
    const refused = await troupe('apply', id, '--json');
    expect(refused.code).toBe(1);
    expect(JSON.parse(refused.stdout)).toMatchObject({
      status: 'refused',
      files: expect.arrayContaining(['new.txt', 'readme.txt'])
    });
    expect(refused.stderr).toContain(`worktrees/${id}, or commit`);
    expect(status()).toBe('');
  });

  test('has nothing to do for an agent that was not isolated or changed nothing', async () => {
    const here = await ran(`${edit}; echo done`);
    expect((await troupe('apply', here)).stderr).toContain('was not isolated');
    const idle = await isolated('echo done');
    expect(await troupe('apply', idle)).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('changed no files')
    });
  });
});

test('result and run end with a line of changes on stderr', async () => {
  const script = `${edit}; echo a >new.txt; echo done`;
  const run = await troupe('run', 'shell', script, '--isolate');
  const [, id = ''] = /; troupe diff ([0-9a-f]{8})\n$/.exec(run.stderr) ?? [];
  const line = `troupe: 2 files changed, +2 −1; troupe diff ${id}\n`;
  expect(run.stderr.endsWith(line)).toBe(true);
  const result = await troupe('result', id);
  expect(result.stdout).toBe('done\n');
  expect(result.stderr).toBe(line);
  const idle = await isolated('echo done');
  expect((await troupe('result', idle)).stderr).toBe('');
});
