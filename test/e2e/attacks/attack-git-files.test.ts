import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type AttackedGit,
  createAttackedGit,
  pathsOf,
  promisedMs
} from '../../kit/workspaces/attacked-git.ts';
import {
  type GitWorkspace,
  gitIn
} from '../../kit/workspaces/git-workspace.ts';

let attacked: AttackedGit;
let workspace: GitWorkspace;
let at: AttackedGit['at'];
let outside: AttackedGit['outside'];
let run: AttackedGit['run'];
let expectNotCompared: AttackedGit['expectNotCompared'];

beforeEach(async () => {
  attacked = await createAttackedGit();
  ({ workspace, at, outside, run, expectNotCompared } = attacked);
});

afterEach(() => attacked.end());

describe('no file of the repository is read that leads elsewhere or never ends', () => {
  test.each(['exclude', 'attributes'])(
    'attack: .git/info/%s is a FIFO',
    async (name) => {
      mkdirSync(at('.git', 'info'), { recursive: true });
      rmSync(at('.git', 'info', name), { force: true });
      execFileSync('mkfifo', [at('.git', 'info', name)]);
      const {
        status,
        files_changed_note: note,
        ms
      } = await run('echo x >made.txt; echo ok');
      expect(status).toBe('completed');
      expect(note).toContain(`.git/info/${name} (it is not a regular file)`);
      expect(ms).toBeLessThan(promisedMs);
    }
  );

  test.each(['exclude', 'attributes'])(
    'attack: .git/info/%s is a link to a secret',
    async (name) => {
      mkdirSync(at('.git', 'info'), { recursive: true });
      rmSync(at('.git', 'info', name), { force: true });
      symlinkSync(outside('private', 'key'), at('.git', 'info', name));
      const { result, files_changed_note: note } = await run();
      expect(result).toBe('nothing');
      expect(note).toContain(`.git/info/${name} (it is a symbolic link)`);
    }
  );

  test('attack: .git/info is a link to a directory of the user', async () => {
    renameSync(outside('private', 'key'), outside('private', 'exclude'));
    rmSync(at('.git', 'info'), { recursive: true, force: true });
    symlinkSync(outside('private'), at('.git', 'info'));
    const { result, files_changed_note: note } = await run();
    expect(result).toBe('nothing');
    expect(note).toContain('.git/info/exclude (it leads outside');
  });

  test('attack: .git/info/exclude is as large as a disk', async () => {
    const line = `${'x'.repeat(1023)}\n`.repeat(1024);
    writeFileSync(at('.git', 'info', 'exclude'), `${line}x`);
    const { files_changed_note: note } = await run();
    expect(note).toContain('.git/info/exclude (it is larger than 1 MB)');
  });

  test.each([
    'HEAD',
    'config',
    'index',
    'packed-refs',
    'commondir',
    'shallow',
    'info/grafts',
    'objects/info/alternates'
  ])('attack: .git/%s is a FIFO', async (name) => {
    rmSync(at('.git', name), { force: true });
    execFileSync('mkfifo', [at('.git', name)]);
    await expectNotCompared(/is not a regular file/);
  });

  test('attack: .git/index is a link to a secret', async () => {
    rmSync(at('.git', 'index'));
    symlinkSync(outside('private', 'key'), at('.git', 'index'));
    await expectNotCompared(/it is a symbolic link/);
  });

  test.each(['core.excludesFile', 'core.attributesFile'])(
    'attack: %s of the repository names a secret',
    async (key) => {
      workspace.git('config', key, outside('private', 'key'));
      const { result, files_changed_note: note } = await run();
      expect(result).toBe('nothing');
      const name = key.toLowerCase();
      expect(note).toContain(`${name} of .git/config (it leads outside`);
    }
  );

  test.each(['core.excludesFile', 'core.attributesFile'])(
    'attack: %s of the repository names a FIFO',
    async (key) => {
      execFileSync('mkfifo', [at('patterns')]);
      workspace.git('config', key, 'patterns');
      const { status, ms } = await run('echo x >made.txt; echo ok');
      expect(status).toBe('completed');
      expect(ms).toBeLessThan(promisedMs);
    }
  );

  test('core.excludesFile of the user is obeyed, and one in the work tree', async () => {
    const ignored = outside('ignored');
    writeFileSync(ignored, '*.users\n');
    gitIn(
      workspace.path,
      'config',
      '-f',
      outside('.gitconfig'),
      'core.excludesFile',
      ignored
    );
    const first = await run('touch a.users b.projects c.txt');
    expect(pathsOf(first)).toEqual(['b.projects', 'c.txt']);
    workspace.write('patterns', '*.projects\n');
    workspace.git('config', 'core.excludesFile', 'patterns');
    const second = await run('touch d.projects e.txt');
    expect(pathsOf(second)).toEqual(['e.txt']);
  });

  test.each(['.gitignore', '.gitattributes', 'sub/.gitignore', '.gitmodules'])(
    'attack: %s is a FIFO',
    async (name) => {
      mkdirSync(at('sub'));
      appendFileSync(at('readme.txt'), 'more\n');
      execFileSync('mkfifo', [at(name)]);
      const { status, ms } = await run('echo x >made.txt; echo ok');
      expect(status).toBe('completed');
      expect(ms).toBeLessThan(promisedMs);
    }
  );

  test('attack: an agent leaves a FIFO as .gitignore', async () => {
    const {
      status,
      files_changed_note: note,
      ms
    } = await run('mkfifo .gitignore; echo ok');
    expect(status).toBe('completed');
    expect(note).toContain('git did not finish within');
    expect(ms).toBeLessThan(promisedMs);
  });

  test('attack: an agent hides its changes behind a FIFO in the place of a file', async () => {
    const ended = await run('rm readme.txt; mkfifo readme.txt; touch made.txt');
    expect(pathsOf(ended)).toEqual(['made.txt']);
    expect(ended.files_changed_note).toContain(
      'Files that cannot be read were left out: readme.txt.'
    );
  });

  test('attack: a FIFO holds up no worktree', async () => {
    mkdirSync(at('.git', 'info'), { recursive: true });
    execFileSync('mkfifo', [at('.git', 'info', 'attributes')]);
    const { data, ms } = await run('echo ok', { isolate: 'worktree' });
    expect(data).toMatchObject({ error_code: 'no_repository' });
    expect(ms).toBeLessThan(promisedMs);
  });

  test('attack: the attributes of the user are a FIFO, and a worktree is waited for', async () => {
    execFileSync('mkfifo', [outside('attributes')]);
    const set = ['core.attributesFile', outside('attributes')];
    gitIn(workspace.path, 'config', '-f', outside('.gitconfig'), ...set);
    const { status, ms } = await run('echo ok', { isolate: 'worktree' });
    expect(status).toBe('failed');
    expect(ms).toBeLessThan(promisedMs);
    const worktrees = at('.agents', 'worktrees');
    expect(readdirSync(worktrees)).toEqual([]);
  });

  test('attack: an isolated agent makes the .git file of its worktree lead elsewhere', async () => {
    gitIn(outside('private'), 'init', '--quiet');
    const { status } = await run(
      `echo "gitdir: ${outside('private', '.git')}" >.git; echo ok`,
      { isolate: 'worktree' }
    );
    expect(status).toBe('completed');
    expect(existsSync(outside('private', 'key'))).toBe(true);
  });
});
