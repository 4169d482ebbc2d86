import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Repositories, Worktree } from '../../core/changes/ports.ts';
import { placeOf } from './place.ts';
import { GitError, git } from './run-git.ts';
import { hasTraces } from './worktree-traces.ts';

export const originOf: Repositories['originOf'] = async (directory, signal) => {
  const place = await placeOf(directory, signal, { withSettings: true });
  if (!place) throw new GitError('it is not a git repository with a work tree');
  const args = ['rev-parse', '--verify', '--quiet', 'HEAD^{commit}'];
  const head = await git(args, { cwd: directory, signal }).catch(() => {
    signal.throwIfAborted();
    throw new GitError('it has no commit yet');
  });
  return { top: place.top, head: head.toString().trimEnd() };
};

/** Worktrees of one repository are made one after the other. */
const turns = new Map<string, Promise<unknown>>();

export const addWorktree: Repositories['addWorktree'] = (worktree, signal) => {
  const { origin } = worktree;
  const before = turns.get(origin) ?? Promise.resolve();
  const turn = before.then(() => whenFree(() => add(worktree, signal)));
  const settled = turn.catch(() => undefined);
  turns.set(origin, settled);
  void settled.then(() => {
    if (turns.get(origin) === settled) turns.delete(origin);
  });
  return turn;
};

/** Another process may be at work in the repository for a moment. */
const tries = 20;

async function whenFree<T>(work: () => Promise<T>): Promise<T> {
  for (let tried = 1; ; tried += 1)
    try {
      return await work();
    } catch (error) {
      if (tried === tries || !isMomentary(error)) throw error;
      await delay(20 + Math.random() * 30 * tried);
    }
}

/** A lock, or a worktree that another process has only half made. */
function isMomentary(error: unknown): boolean {
  return (
    error instanceof GitError &&
    /\.lock'?: File exists|could not lock|another git process|failed to read .*commondir/i.test(
      error.message
    )
  );
}

async function add(worktree: Worktree, signal: AbortSignal): Promise<void> {
  const { path, branch, base, origin } = worktree;
  if (existsSync(join(path, '.git'))) return;
  await checkAnswers(origin, signal);
  const call = { cwd: origin, signal };
  const isThere = await tipOf(worktree, signal);
  // Its folder was deleted by hand: git still knows it.
  if (isThere && !existsSync(path))
    await git(['worktree', 'remove', path], call).catch(() => undefined);
  const wasThere = existsSync(path);
  const what = isThere
    ? [path, branch]
    : ['--no-track', '-b', branch, path, base];
  try {
    await git(['worktree', 'add', '--quiet', ...what], call);
  } catch (error) {
    if (!isThere) await takeBack(worktree, wasThere);
    throw error;
  }
}

/** A repository that git can read at all says what it knows within that. */
const answerMs = 4000;

/**
 * Making a worktree may take a minute, but not because git waits for a FIFO
 * among its index, its attributes or its settings.
 */
async function checkAnswers(
  origin: string,
  signal: AbortSignal
): Promise<void> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(answerMs)]);
  try {
    const place = await placeOf(origin, limit, { withSettings: true });
    if (!place)
      throw new GitError('it is not a git repository with a work tree');
    const args = ['check-attr', '--cached', '--all', 'file'];
    await git(args, { cwd: origin, signal: limit });
  } catch (error) {
    if (!limit.aborted || signal.aborted) throw error;
    throw new GitError(`git was not done within ${answerMs / 1000} s`);
  }
}

/** What is left of a worktree that did not come to be. */
async function takeBack(
  { path, branch, base, origin }: Worktree,
  wasThere: boolean
): Promise<void> {
  const call = { cwd: origin, signal: AbortSignal.timeout(3000) };
  const quietly = (...args: string[]) =>
    whenFree(() => git(args, call)).catch(() => undefined);
  // Twice: git locks what it is still making.
  if (!wasThere)
    await quietly('worktree', 'remove', '--force', '--force', path);
  await quietly('update-ref', '-d', `refs/heads/${branch}`, base);
}

/** The commit of its branch; undefined when there is none. */
async function tipOf(
  { branch, origin }: Worktree,
  signal: AbortSignal
): Promise<string | undefined> {
  const args = ['rev-parse', '--verify', '--quiet', `refs/heads/${branch}`];
  const tip = await git(args, { cwd: origin, signal }).catch(() => undefined);
  return tip?.toString().trim();
}

export const removeUntouched: Repositories['removeUntouched'] = async (
  worktree,
  signal
) => {
  const { path, branch, base, origin } = worktree;
  if (!existsSync(path) || !(await isUntouched(worktree, signal))) return;
  const call = { cwd: origin, signal };
  // Without --force git itself refuses where anything is left to lose.
  await whenFree(() => git(['worktree', 'remove', path], call));
  const reference = ['update-ref', '-d', `refs/heads/${branch}`, base];
  await whenFree(() => git(reference, call));
};

/**
 * On its branch and its first commit, where it always was, with no file that
 * the commit does not have, not even an ignored one.
 */
async function isUntouched(
  worktree: Worktree,
  signal: AbortSignal
): Promise<boolean> {
  const { path, branch, base } = worktree;
  // Its agent may have made its `.git` file name another repository.
  await placeOf(path, signal, { withSettings: true });
  const ask = async (...args: string[]) =>
    (await git(args, { cwd: path, signal })).toString().trim();
  const flags = [
    '--porcelain',
    '--ignored',
    '--untracked-files=all',
    '--ignore-submodules=none'
  ];
  const [head, commit, moves, status, traces] = await Promise.all([
    ask('symbolic-ref', '--quiet', 'HEAD').catch(() => ''),
    ask('rev-parse', '--verify', 'HEAD'),
    ask('reflog', 'show', '--format=%H', 'HEAD'),
    ask('status', ...flags),
    hasTraces(worktree, signal)
  ]);
  return (
    head === `refs/heads/${branch}` &&
    commit === base &&
    moves.split('\n').every((move) => move === '' || move === base) &&
    status === '' &&
    !traces
  );
}
