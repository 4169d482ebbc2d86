import { existsSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { mostLinkBytes } from '../../core/changes/own-worktree.ts';
import type { Repositories } from '../../core/changes/ports.ts';
import type { Worktree } from '../../core/runs/run.ts';
import { headOf } from '../../core/state/files/text-file.ts';
import {
  locateRepository,
  type RepositoryLocation
} from './repository-location.ts';
import { type GitCall, GitError, git, lineOf } from './run-git.ts';

export const originOf: Repositories['originOf'] = async (directory, signal) => {
  const { top } = await existingRepository(directory, signal);
  // One call for both. A pattern without wildcards would look below `troupe/`.
  const names = ['--symbolic-full-name', '--branches=troup[e]'];
  const args = ['rev-parse', '--revs-only', 'HEAD^{commit}', ...names];
  const found = await git(args, { cwd: directory, signal }).catch(() => {
    signal.throwIfAborted();
    return Buffer.of();
  });
  const [head = '', ...branches] = lineOf(found).split('\n');
  if (!/^[0-9a-f]+$/.test(head)) throw new GitError('it has no commit yet');
  return { top, head, hasBlockingBranch: branches.length > 0 };
};

async function existingRepository(
  directory: string,
  signal: AbortSignal
): Promise<RepositoryLocation> {
  const options = { withSettings: true };
  const location = await locateRepository(directory, signal, options);
  if (location) return location;
  throw new GitError('it is not a git repository with a work tree');
}

/**
 * The last creation in each repository, by its path: worktrees of a repository
 * are created one after another.
 */
const creations = new Map<string, Promise<unknown>>();

export const addWorktree: Repositories['addWorktree'] = (
  worktree,
  signal,
  directory
) => {
  const { origin } = worktree;
  const before = creations.get(origin) ?? Promise.resolve();
  const env: Record<string, string> =
    directory === undefined ? {} : { TROUPE_AGENT_DIR: directory };
  const addOnce = () => add(worktree, { cwd: origin, env, signal });
  const creation = before.then(() => whenFree(addOnce));
  const settled = creation.catch(() => undefined);
  creations.set(origin, settled);
  void settled.then(() => {
    if (creations.get(origin) === settled) creations.delete(origin);
  });
  return creation;
};

const tries = 20;

/** Retries while another process briefly locks the repository. */
export async function whenFree<T>(work: () => Promise<T>): Promise<T> {
  for (let tried = 1; ; tried += 1)
    try {
      return await work();
    } catch (error) {
      if (tried === tries || !isTransient(error)) throw error;
      await delay(20 + Math.random() * 30 * tried);
    }
}

/** True for a lock, or for what another process is creating. */
function isTransient(error: unknown): boolean {
  return (
    error instanceof GitError &&
    /\.lock'?: File exists|could not lock|another git process|failed to read .*commondir|a branch named .* already exists/i.test(
      error.message
    )
  );
}

async function add(worktree: Worktree, call: GitCall): Promise<void> {
  const { path, branch, base, origin } = worktree;
  const { signal } = call;
  if (existsSync(join(path, '.git'))) {
    if (isDisconnected(path)) await reconnect(path, call);
    return;
  }
  await checkReadable(origin, signal);
  const isThere = await tipOf(worktree, signal);
  // The folder was deleted by hand, but git still has an entry for it.
  if (isThere && !existsSync(path))
    await git(['worktree', 'remove', path], call).catch(() => undefined);
  const wasThere = existsSync(path);
  let isOurs = false;
  try {
    // Fails if another process has created the branch in the meantime.
    if (!isThere) await git(['branch', '--no-track', branch, base], call);
    isOurs = !isThere;
    await git(['worktree', 'add', '--quiet', path, branch], call);
  } catch (error) {
    const isUnknown = !isThere && signal.aborted;
    if ((isOurs || isUnknown) && !isTaken(path, error))
      await removeRemains(worktree, wasThere);
    throw error;
  }
}

/**
 * Whether a worktree names its entry in the repository by a path that is gone,
 * because both were moved. Git knows the entry by its name.
 */
function isDisconnected(path: string): boolean {
  const link = headOf(join(path, '.git'), mostLinkBytes);
  const [, entry] = /^gitdir: (.+)/.exec(link) ?? [];
  return (
    entry !== undefined &&
    basename(entry) === basename(path) &&
    !existsSync(resolve(path, entry))
  );
}

/** An agent whose worktree has no entry any more works in its files alone. */
async function reconnect(path: string, call: GitCall): Promise<void> {
  await git(['worktree', 'repair', path], call).catch(() =>
    call.signal.throwIfAborted()
  );
}

/** Whether another process has created the worktree in the meantime. */
function isTaken(path: string, error: unknown): boolean {
  return (
    error instanceof GitError &&
    error.message.includes('already exists') &&
    existsSync(join(path, '.git'))
  );
}

/** In any repository that git can read, it answers within this time. */
const answerMs = 4000;

/**
 * Creating a worktree may take a minute, but git must not spend it waiting for
 * a FIFO in place of its index, its attributes or its settings.
 * @throws GitError if git does not answer in time
 */
async function checkReadable(
  origin: string,
  signal: AbortSignal
): Promise<void> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(answerMs)]);
  try {
    await existingRepository(origin, limit);
    const args = ['check-attr', '--cached', '--all', 'file'];
    await git(args, { cwd: origin, signal: limit });
  } catch (error) {
    if (!limit.aborted || signal.aborted) throw error;
    throw new GitError(`git did not finish within ${answerMs / 1000} s`);
  }
}

export const settleCreation: Repositories['settleCreation'] = async (
  worktree
) => {
  const { path, branch, base, origin } = worktree;
  const signal = AbortSignal.timeout(answerMs);
  const { commonDir } = await existingRepository(origin, signal);
  // Git locks a worktree while it creates it, and notes why.
  const lock = join(commonDir, 'worktrees', basename(path), 'locked');
  if (headOf(lock, 100).trim() === 'initializing')
    return removeRemains(worktree, false);
  if (existsSync(path) || existsSync(asideOf(path))) return;
  const reference = ['update-ref', '-d', `refs/heads/${branch}`, base];
  const call = { cwd: origin, signal };
  await whenFree(() => git(reference, call));
};

/** Where a worktree is while it is checked a last time before its removal. */
export function asideOf(path: string): string {
  return `${path}.aside`;
}

/** Removes the remains of a worktree that could not be created. */
async function removeRemains(
  { path, branch, base, origin }: Worktree,
  wasThere: boolean
): Promise<void> {
  const call = { cwd: origin, signal: AbortSignal.timeout(3000) };
  const quietly = (...args: string[]) =>
    whenFree(() => git(args, call)).catch(() => undefined);
  // Forced twice, because git locks a worktree that it is creating.
  if (!wasThere)
    await quietly('worktree', 'remove', '--force', '--force', path);
  await quietly('update-ref', '-d', `refs/heads/${branch}`, base);
}

/** The tip of the worktree's branch; undefined if there is no such branch. */
async function tipOf(
  { branch, origin }: Worktree,
  signal: AbortSignal
): Promise<string | undefined> {
  const args = ['rev-parse', '--verify', '--quiet', `refs/heads/${branch}`];
  const tip = await git(args, { cwd: origin, signal }).catch(() => undefined);
  return tip && lineOf(tip);
}
