import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  justBefore,
  watchFiles
} from '../../../test/kit/judges/file-operations.ts';
import {
  createGitWorkspace,
  type GitWorkspace,
  gitIn
} from '../../../test/kit/workspaces/git-workspace.ts';
import type { Worktree } from '../../core/runs/run.ts';
import { locate } from '../child-process/locate.ts';
import { putBackWorktree, removeUntouched } from './remove-worktree.ts';
import { GitError } from './run-git.ts';
import { addWorktree, originOf, whenFree } from './worktrees.ts';

vi.mock('node:fs/promises', async () => {
  const { watchedPromises } = await import(
    '../../../test/kit/judges/file-operations.ts'
  );
  return watchedPromises();
});

const signal = new AbortController().signal;
let project: GitWorkspace;
let one: Worktree;

beforeEach(async () => {
  watchFiles();
  project = createGitWorkspace();
  onTestFinished(project.remove);
  one = await worktree('a');
});

async function worktree(name: string): Promise<Worktree> {
  const { top, head } = await originOf(project.path, signal);
  const path = join(project.home, name);
  return { path, branch: `troupe/${name}`, base: head, origin: top };
}

/** Runs a shell command once, just before a git command that matches. */
function justBeforeGit(pattern: string, command: string): void {
  const real = locate('git');
  const done = join(project.home, 'done');
  const program = join(project.bin, 'git');
  writeFileSync(
    program,
    `#!/bin/sh
case " $* " in ${pattern})
  if mkdir '${done}' 2>&-; then (PATH='${process.env.PATH}'; ${command}) >&2; fi
esac
exec '${real}' "$@"
`
  );
  chmodSync(program, 0o755);
  vi.stubEnv('PATH', `${project.bin}:${process.env.PATH}`);
  onTestFinished(() => {
    vi.unstubAllEnvs();
    // The other process has acted.
    expect(existsSync(done)).toBe(true);
  });
}

const tipOf = (branch: string) => project.git('rev-parse', branch).trim();
const branches = () =>
  project.git('branch', '--format=%(refname:short)').trim().split('\n');

describe('a worktree that another process creates', () => {
  test.each([
    ['branch', 'is used', '*" branch "*'],
    ['folder', 'stays', '*" worktree add "*']
  ])('just before its %s is created %s', async (what, _end, pattern) => {
    const { path, branch, base } = one;
    const add = `git -C '${project.path}' worktree add --quiet`;
    justBeforeGit(
      pattern,
      `${add} '${path}' ${branch} || ${add} -b ${branch} '${path}' ${base}
      echo x >'${path}/mine.txt'`
    );
    const adding = addWorktree(one, signal);
    if (what === 'branch') await adding;
    else await expect(adding).rejects.toThrow('already exists');
    expect(readFileSync(join(path, 'mine.txt'), 'utf8')).toBe('x\n');
    expect(tipOf(branch)).toBe(base);
    expect(gitIn(path, 'branch', '--show-current').trim()).toBe(branch);
  });

  test('keeps its branch, which this process then uses', async () => {
    const reference = `refs/heads/${one.branch} ${one.base}`;
    justBeforeGit(
      '*" branch "*',
      `git -C '${project.path}' update-ref --create-reflog -m theirs ${reference}`
    );
    await addWorktree(one, signal);
    expect(existsSync(join(one.path, 'readme.txt'))).toBe(true);
    // Git removes the log with the branch.
    expect(project.git('reflog', 'show', one.branch)).toContain('theirs');
  });

  test('on the same branch elsewhere keeps its branch', async () => {
    const elsewhere = { ...one, path: join(project.home, 'elsewhere') };
    await addWorktree(elsewhere, signal);
    await expect(addWorktree(one, signal)).rejects.toThrow(GitError);
    expect(existsSync(one.path)).toBe(false);
    expect(tipOf(one.branch)).toBe(one.base);
    expect(gitIn(elsewhere.path, 'status', '--porcelain')).toBe('');
  });
});

test("a folder in a worktree's place stays, and so do its files", async () => {
  mkdirSync(one.path);
  writeFileSync(join(one.path, 'mine.txt'), 'x');
  await expect(addWorktree(one, signal)).rejects.toThrow('already exists');
  expect(existsSync(join(one.path, 'mine.txt'))).toBe(true);
  expect(branches()).toEqual(['main']);
});

test('a worktree is created after one in the same repository that could not be', async () => {
  writeFileSync(one.path, 'in the way');
  const other = await worktree('b');
  const [first, second] = await Promise.allSettled([
    addWorktree(one, signal),
    addWorktree(other, signal)
  ]);
  expect([first?.status, second?.status]).toEqual(['rejected', 'fulfilled']);
  expect(branches()).toEqual(['main', 'troupe/b']);
});

describe('a worktree that has no changes at the first look', () => {
  const file = () => join(one.path, 'new.txt');

  beforeEach(async () => {
    await addWorktree(one, signal);
  });

  test('stays, when a file is written just before it is set aside', async () => {
    justBefore('rename', '/a.aside', () => writeFileSync(file(), 'x'));
    await removeUntouched(one, one.path, signal);
    expect(readFileSync(file(), 'utf8')).toBe('x');
    expect(existsSync(`${one.path}.aside`)).toBe(false);
    expect(branches()).toContain(one.branch);
  });

  test('stays, when the second look fails', async () => {
    const entry = join(project.path, '.git/worktrees/a');
    const away = join(project.home, 'entry');
    justBefore('rename', '/a.aside', () => renameSync(entry, away));
    await expect(removeUntouched(one, one.path, signal)).rejects.toThrow(
      GitError
    );
    renameSync(away, entry);
    expect(gitIn(one.path, 'status', '--porcelain')).toBe('');
    expect(existsSync(`${one.path}.aside`)).toBe(false);
  });

  test('keeps its branch, when that gets a commit during the removal', async () => {
    project.write('later.txt', 'x\n');
    const later = project.commit('later');
    justBefore('rename', '/a.gone', () => {
      project.git('update-ref', `refs/heads/${one.branch}`, later);
    });
    await expect(removeUntouched(one, one.path, signal)).rejects.toThrow(
      GitError
    );
    expect(tipOf(one.branch)).toBe(later);
    expect(existsSync(one.path)).toBe(false);
  });

  test('leaves no entry in git when it is removed', async () => {
    await removeUntouched(one, one.path, signal);
    const listed = project.git('worktree', 'list').trim().split('\n');
    expect(listed).toHaveLength(1);
    expect(existsSync(`${one.path}.gone`)).toBe(false);
  });
});

describe('what a killed process leaves of a removal', () => {
  const put = (ending: string, text: string) => {
    mkdirSync(`${one.path}${ending}`);
    writeFileSync(join(`${one.path}${ending}`, 'file'), text);
  };
  const textOf = (ending = '') =>
    readFileSync(join(`${one.path}${ending}`, 'file'), 'utf8');

  test('is put back, unless the second look found no changes', async () => {
    put('.aside', 'work');
    put('.gone', 'no work');
    await putBackWorktree(one);
    expect(textOf()).toBe('work');
    for (const ending of ['.aside', '.gone'])
      expect(existsSync(`${one.path}${ending}`)).toBe(false);
  });

  test.each([
    ['before git forgot it', () => undefined],
    ['after git forgot it', () => project.git('worktree', 'remove', one.path)]
  ])('is removed for good if it was killed %s', async (_, before) => {
    await addWorktree(one, signal);
    renameSync(one.path, `${one.path}.gone`);
    before();
    await putBackWorktree(one);
    expect(project.git('worktree', 'list').trim().split('\n')).toHaveLength(1);
    expect(branches()).not.toContain(one.branch);
    expect(existsSync(`${one.path}.gone`)).toBe(false);
  });

  test('does not replace a worktree that was created since', async () => {
    put('', 'newer');
    put('.aside', 'work');
    await putBackWorktree(one);
    expect([textOf(), textOf('.aside')]).toEqual(['newer', 'work']);
    rmSync(one.path, { recursive: true });
    await putBackWorktree(one);
    expect(textOf()).toBe('work');
  });
});

describe('a git command', () => {
  const lock = "Unable to create 'x.lock': File exists.";
  /** Fails so often, then succeeds; gives the number of calls. */
  async function callsOf(problem: Error, failures: number): Promise<number> {
    let calls = 0;
    const work = async () => {
      calls += 1;
      if (calls <= failures) throw problem;
    };
    await whenFree(work).catch((error) => expect(error).toBe(problem));
    return calls;
  }

  test('is repeated only while another process holds a lock of git', async () => {
    expect(await callsOf(new GitError(lock), 2)).toBe(3);
    expect(await callsOf(new GitError('no such branch'), 2)).toBe(1);
    expect(await callsOf(new Error(lock), 2)).toBe(1);
  });

  test('fails after twenty attempts', async () => {
    expect(await callsOf(new GitError(lock), 100)).toBe(20);
  }, 60_000);
});
