import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { until } from '../../../test/kit/judges/until.ts';
import {
  author,
  createGitWorkspace,
  type GitWorkspace,
  gitIn
} from '../../../test/kit/workspaces/git-workspace.ts';
import type { Worktree } from '../../core/runs/run.ts';
import { removeUntouched } from './remove-worktree.ts';
import { addWorktree, originOf } from './worktrees.ts';

const signal = new AbortController().signal;

let project: GitWorkspace;

beforeEach(() => {
  project = createGitWorkspace();
});

afterEach(() => project.remove());

async function worktree(name = 'a'): Promise<Worktree> {
  const { top, head } = await originOf(project.path, signal);
  const path = join(project.home, name);
  return { path, branch: `troupe/${name}`, base: head, origin: top };
}

async function added(name?: string): Promise<Worktree> {
  const one = await worktree(name);
  await addWorktree(one, signal);
  return one;
}

function branches(): string[] {
  return project.git('branch', '--format=%(refname:short)').trim().split('\n');
}

describe('a worktree', () => {
  test('starts at the given commit and on the given branch', async () => {
    const one = await worktree();
    project.write('later.txt', 'x\n');
    project.commit('later');
    await addWorktree(one, signal);
    expect(gitIn(one.path, 'rev-parse', 'HEAD').trim()).toBe(one.base);
    expect(gitIn(one.path, 'branch', '--show-current').trim()).toBe('troupe/a');
    expect(existsSync(join(one.path, 'later.txt'))).toBe(false);
  });

  test('is used as it is when it exists', async () => {
    const one = await added();
    writeFileSync(join(one.path, 'mine.txt'), 'x\n');
    await addWorktree(one, signal);
    expect(existsSync(join(one.path, 'mine.txt'))).toBe(true);
  });

  test('is created from its branch when its folder was deleted', async () => {
    const one = await added();
    writeFileSync(join(one.path, 'mine.txt'), 'x\n');
    gitIn(one.path, 'add', '--all');
    gitIn(one.path, ...author.split(' '), 'commit', '--quiet', '-m', 'mine');
    rmSync(one.path, { recursive: true });
    await addWorktree(one, signal);
    expect(existsSync(join(one.path, 'mine.txt'))).toBe(true);
  });

  test('waits for a lock that another process holds', async () => {
    const one = await worktree();
    const lock = join(project.path, '.git/refs/heads/troupe/a.lock');
    project.write('.git/refs/heads/troupe/a.lock', '');
    const making = addWorktree(one, signal);
    const failure = making.then(
      () => undefined,
      (error: unknown) => error
    );
    setTimeout(() => rmSync(lock), 150);
    expect(await failure).toBeUndefined();
    expect(existsSync(join(one.path, 'readme.txt'))).toBe(true);
  });

  test.each([
    ['created', (one: Worktree) => addWorktree(one, signal)],
    ['removed', (one: Worktree) => removeUntouched(one, one.path, signal)]
  ])('is %s while another process is creating one', async (what, act) => {
    const other = await added('other');
    const one = what === 'created' ? await worktree() : await added();
    // Git writes this file last, and reads it for all worktrees.
    const half = join(project.path, '.git/worktrees/other/commondir');
    const whole = readFileSync(half);
    writeFileSync(half, '');
    const acting = act(one).catch((error: unknown) => error);
    setTimeout(() => writeFileSync(half, whole), 150);
    expect(await acting).toBeUndefined();
    expect(existsSync(one.path)).toBe(what === 'created');
    expect(existsSync(other.path)).toBe(true);
  });

  test('fails with the message of git, and leaves no branch', async () => {
    const one = await worktree();
    writeFileSync(one.path, 'in the way');
    await expect(addWorktree(one, signal)).rejects.toThrow(/already exists/);
    expect(branches()).toEqual(['main']);
  });

  test('leaves nothing when its creation is aborted', async () => {
    for (let number = 0; number < 3000; number += 1)
      project.write(`many/${number}.txt`, 'x\n');
    project.write('slow.txt', 'x\n');
    project.write('.gitattributes', 'slow.txt filter=slow\n');
    project.commit('slow');
    project.git('config', 'filter.slow.smudge', 'sleep 60; cat');
    const one = await worktree();
    const unwanted = new AbortController();
    const making = addWorktree(one, unwanted.signal);
    const failure = making.catch((error: unknown) => error);
    const isHalfMade = () => existsSync(join(one.path, 'readme.txt'));
    await until('half a worktree', () => isHalfMade() || undefined);
    unwanted.abort(new Error('unwanted'));
    expect(await failure).toEqual(new Error('unwanted'));
    expect(existsSync(one.path)).toBe(false);
    expect(branches()).toEqual(['main']);
    expect(project.git('worktree', 'list').trim()).not.toContain('\n');
  });

  test('is not created where there is no commit', async () => {
    rmSync(join(project.path, '.git'), { recursive: true });
    await expect(worktree()).rejects.toThrow(/not a git repository/);
    project.git('init', '--quiet');
    await expect(worktree()).rejects.toThrow('it has no commit yet');
  });
});

describe('removing a worktree', () => {
  test('removes its branch too, when nothing happened in it', async () => {
    const one = await added();
    await removeUntouched(one, one.path, signal);
    expect(existsSync(one.path)).toBe(false);
    expect(branches()).toEqual(['main']);
    await removeUntouched(one, one.path, signal);
  });

  test('also works where git gave it copies of settings', async () => {
    project.write('sub/a.txt', 'x\n');
    project.commit('sub');
    project.git('sparse-checkout', 'set', '--cone', 'sub');
    const one = await added();
    gitIn(one.path, 'status');
    await removeUntouched(one, one.path, signal);
    expect(existsSync(one.path)).toBe(false);
  });

  const kept: [what: string, change: (path: string) => void][] = [
    ['an edit', (path) => writeFileSync(join(path, 'readme.txt'), 'x')],
    ['a new file', (path) => writeFileSync(join(path, 'new.txt'), 'x')],
    [
      'a commit',
      (path) => {
        writeFileSync(join(path, 'new.txt'), 'x');
        gitIn(path, 'add', '--all');
        gitIn(path, ...author.split(' '), 'commit', '--quiet', '-m', 'x');
      }
    ],
    [
      'a commit that was reset',
      (path) => {
        const empty = ['commit', '--quiet', '--allow-empty', '-m', 'x'];
        gitIn(path, ...author.split(' '), ...empty);
        gitIn(path, 'reset', '--quiet', '--hard', 'HEAD~1');
      }
    ],
    [
      'an ignored file',
      (path) => {
        const exclude = join(project.path, '.git/info/exclude');
        writeFileSync(exclude, 'build\n');
        writeFileSync(join(path, 'build'), 'x');
      }
    ],
    [
      'a file where a submodule would be',
      (path) => {
        writeFileSync(join(path, 'lib/new.c'), 'x');
      }
    ],
    ['an empty folder', (path) => mkdirSync(join(path, 'empty'))],
    [
      'an empty folder where a submodule would be',
      (path) => mkdirSync(join(path, 'lib/empty'))
    ],
    [
      'a repository in a folder of the project',
      (path) => {
        gitIn(join(path, 'sub'), 'init', '--quiet');
      }
    ],
    [
      'another branch',
      (path) => {
        gitIn(path, 'checkout', '--quiet', '-b', 'mine');
      }
    ],
    [
      'a commit that was reset and is in no log',
      (path) => {
        const empty = ['commit', '--quiet', '--allow-empty', '-m', 'x'];
        gitIn(path, ...author.split(' '), ...empty);
        gitIn(path, 'reset', '--quiet', '--hard', 'HEAD~1');
        gitIn(path, 'reflog', 'expire', '--expire=now', '--all');
      }
    ],
    [
      'a reference of its own',
      (path) => {
        const commit = ['commit-tree', '-m', 'x', 'HEAD^{tree}'];
        const saved = gitIn(path, ...author.split(' '), ...commit).trim();
        gitIn(path, 'update-ref', 'refs/worktree/saved', saved);
      }
    ],
    [
      'a setting of its own',
      (path) => {
        gitIn(path, 'config', 'extensions.worktreeConfig', 'true');
        gitIn(path, 'config', '--worktree', 'my.note', 'x');
      }
    ],
    [
      'a file in its git directory',
      (path) => {
        const folder = gitIn(path, 'rev-parse', '--absolute-git-dir').trim();
        writeFileSync(join(folder, 'notes'), 'x');
      }
    ],
    [
      'a detached HEAD',
      (path) => {
        gitIn(path, 'checkout', '--quiet', '--detach');
      }
    ]
  ];
  test.each(kept)('is refused when it has %s', async (_, change) => {
    project.write('sub/a.txt', 'x\n');
    const head = project.git('rev-parse', 'HEAD').trim();
    const link = `160000,${head},lib`;
    project.git('update-index', '--add', '--cacheinfo', link);
    project.git('add', 'sub');
    project.git(...author.split(' '), 'commit', '--quiet', '-m', 'both');
    const one = await added();
    change(one.path);
    await removeUntouched(one, one.path, signal);
    expect(existsSync(one.path)).toBe(true);
    expect(readdirSync(join(one.path, '..'))).toEqual(['a']);
    expect(branches()).toContain('troupe/a');
  });
});
