import { existsSync, renameSync } from 'node:fs';
import { readdir, rename, rm } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import type { Repositories } from '../../core/changes/ports.ts';
import type { Worktree } from '../../core/runs/run.ts';
import {
  ownReadFlags,
  readRegular
} from '../../core/state/files/regular-file.ts';
import {
  locateRepository,
  type RepositoryLocation
} from './repository-location.ts';
import { type GitCall, git, lineOf } from './run-git.ts';
import { absolute, gitlink } from './take-tree.ts';
import { asideOf, whenFree } from './worktrees.ts';

/**
 * Removes a worktree that holds no work. It is renamed first, so that no
 * process finds it by its path, and then checked again. Only then it gets the
 * name under which it is deleted: files that a killed process leaves under that
 * name are never restored.
 */
export const removeUntouched: Repositories['removeUntouched'] = async (
  worktree,
  cwd,
  signal
) => {
  const { path } = worktree;
  const created = relative(path, cwd).split(sep).join('/');
  if (!existsSync(path)) return;
  // The agent may have pointed its `.git` file at another repository.
  const location = await locateRepository(path, signal, { withSettings: true });
  const isEmpty = (at: RepositoryLocation) =>
    isUntouched(worktree, at, created, signal);
  if (!location || !(await isEmpty(location))) return;
  const { aside, gone } = otherNames(path);
  await rename(path, aside);
  try {
    const moved = { ...location, top: aside };
    if (await isEmpty(moved)) await rename(aside, gone);
  } finally {
    if (existsSync(aside)) await rename(aside, path);
  }
  if (existsSync(gone)) await forget(worktree, signal);
};

/** Most of what `putBackWorktree` may take to complete a removal. */
const completionMs = 10_000;

export const putBackWorktree: Repositories['putBackWorktree'] = async (
  worktree
) => {
  const { path } = worktree;
  const { aside, gone } = otherNames(path);
  if (existsSync(aside) && !existsSync(path)) renameSync(aside, path);
  if (!existsSync(gone)) return;
  if (existsSync(path)) return rm(gone, rmOptions);
  const signal = AbortSignal.timeout(completionMs);
  // What the killed process has done already fails.
  await forget(worktree, signal, () => undefined).catch(() => undefined);
};

const rmOptions = { recursive: true, force: true, maxRetries: 3 };

/**
 * Removes a worktree that has been given its last name, and its branch. The
 * folder comes last, so that a killed process leaves a sign of the other steps.
 */
async function forget(
  { path, branch, base, origin }: Worktree,
  signal: AbortSignal,
  onError?: () => undefined
): Promise<void> {
  const call = { cwd: origin, signal };
  const run = (...args: string[]) => whenFree(() => git(args, call));
  try {
    // No folder has its path: this removes git's own entry for the worktree.
    const entry = run('worktree', 'remove', path);
    await (onError ? entry.catch(onError) : entry);
    await run('update-ref', '-d', `refs/heads/${branch}`, base);
  } finally {
    await rm(otherNames(path).gone, rmOptions);
  }
}

function otherNames(path: string): { aside: string; gone: string } {
  return { aside: asideOf(path), gone: `${path}.gone` };
}

/**
 * Whether a worktree is on its branch and its first commit, has never been
 * elsewhere, and holds no file or folder that the commit does not have.
 * @param location the current paths of the worktree and of its git directory
 * @param created the path below the top of a folder that may be there besides
 */
async function isUntouched(
  { branch, base }: Worktree,
  location: RepositoryLocation,
  created: string,
  signal: AbortSignal
): Promise<boolean> {
  const { top, gitDir } = location;
  // Without these, git would record the new path of a moved worktree.
  const env = { GIT_DIR: gitDir, GIT_WORK_TREE: top };
  const call = { cwd: top, env, signal };
  const ask = async (...args: string[]) => lineOf(await git(args, call));
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
    hasTraces(location, base, call)
  ]);
  return (
    head === `refs/heads/${branch}` &&
    commit === base &&
    moves.split('\n').every((move) => move === '' || move === base) &&
    status === '' &&
    !traces &&
    !(await holdsUntracked(call, created))
  );
}

/**
 * Whether a worktree holds what `git status` never shows: empty folders, files
 * in place of a submodule, and repositories inside tracked folders.
 */
async function holdsUntracked(call: GitCall, created: string) {
  const entries = await git(['ls-files', '-z', '--stage'], call);
  const files = new Set(['.git']);
  const folders = new Set<string>();
  const addFolder = (path: string) => {
    for (let at = path; at !== '' && !folders.has(at); at = above(at))
      folders.add(at);
  };
  // As bytes, like the names in git's output.
  addFolder(Buffer.from(created).toString('latin1'));
  for (const entry of entries.toString('latin1').split('\0')) {
    const path = entry.slice(entry.indexOf('\t') + 1);
    // Git creates an empty folder for a submodule.
    const isLink = entry.startsWith(gitlink);
    addFolder(isLink ? path : above(path));
    if (!isLink) files.add(path);
  }
  const unread = [''];
  for (let at = unread.pop(); at !== undefined; at = unread.pop()) {
    const path = absolute(call.cwd, at);
    const options = { withFileTypes: true, encoding: 'latin1' } as const;
    for (const found of await readdir(path, options)) {
      const name = `${at}${found.name}`;
      const isFolder = found.isDirectory();
      if (!(isFolder ? folders : files).has(name)) return true;
      if (isFolder) unread.push(`${name}/`);
    }
  }
  return false;
}

/** The folder of a path, and '' for a path without one. */
function above(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}

/** Files of a git directory that every worktree has, or that hold no work. */
const usual =
  /^(HEAD|commondir|gitdir|index|logs\/HEAD|sharedindex\.\w+|(reftable|fsmonitor--daemon).*)$/;

/**
 * Whether the git directory of a worktree holds data that would be lost with
 * it: the message or the hash of a commit that was reset, references and
 * settings of this worktree alone, or the repositories of its submodules.
 */
async function hasTraces(
  { gitDir, commonDir }: RepositoryLocation,
  base: string,
  call: GitCall
): Promise<boolean> {
  const refs = ['refs/worktree', 'refs/bisect', 'refs/rewritten'];
  const args = ['for-each-ref', '--format=%(refname)', ...refs];
  if ((await git(args, call)).length > 0) return true;
  for (const name of await filesIn(gitDir)) {
    if (usual.test(name)) continue;
    const bytes = bytesOf(join(gitDir, name));
    if (!bytes) return true;
    const expected =
      name === 'ORIG_HEAD'
        ? Buffer.from(`${base}\n`)
        : // Git copies some settings into a new worktree.
          bytesOf(join(commonDir, name));
    if (!expected?.equals(bytes)) return true;
  }
  return false;
}

/** Undefined for a file that is missing or cannot be read. */
function bytesOf(path: string): Buffer | undefined {
  try {
    return readRegular(path, ownReadFlags);
  } catch {
    return undefined;
  }
}

async function filesIn(directory: string): Promise<string[]> {
  const options = { recursive: true, withFileTypes: true } as const;
  return (await readdir(directory, options))
    .filter((entry) => !entry.isDirectory())
    .map(({ parentPath, name }) => relative(directory, join(parentPath, name)))
    .map((path) => path.split(sep).join('/'));
}
