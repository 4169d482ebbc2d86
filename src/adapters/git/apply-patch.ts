import { rm } from 'node:fs/promises';
import { messageOf } from '../../core/errors.ts';
import { temporaryName } from '../../core/state/files/atomic-file.ts';
import { GitError, git, lineOf } from './run-git.ts';
import { createShadow, type Shadow, shadowGit } from './shadow.ts';
import { readable } from './take-tree.ts';
import { whenFree } from './worktrees.ts';

export interface Application {
  /**
   * `nothing`: the files have these changes already. `overlap`: files of the
   * patch have uncommitted edits. With all but `applied`, no file has changed.
   */
  status: 'applied' | 'nothing' | 'conflict' | 'overlap' | 'refused';
  /** The files that this status is about, relative to the top. */
  files: string[];
  /** Git's own words, if it gave a reason. */
  reason?: string;
}

/**
 * Applies a patch to a work tree and its index as `git apply --3way` does, but
 * only as a whole: it is first tried on a copy of the index, so that a conflict
 * leaves no marks. That copy is next to the patch for a moment.
 * @param top the top of the work tree
 * @throws GitError if there is no repository that git can read
 */
export async function applyPatch(
  top: string,
  patch: string,
  signal: AbortSignal
): Promise<Application> {
  const scratch = temporaryName(`${patch}.trial`);
  try {
    const shadow = await createShadow(top, scratch, signal);
    if (!shadow) throw new GitError('it is not a git repository');
    const tried = await tryOnIndex(shadow, patch, signal);
    if (!Array.isArray(tried)) return tried;
    if (tried.length === 0) return { status: 'nothing', files: [] };
    const edited = await editedIn(top, signal);
    const overlap = tried.filter((path) => edited.has(path));
    if (overlap.length > 0) return about('overlap', overlap);
    return await apply(top, patch, tried, signal);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** The paths that the patch changes in the index, or why it does not apply. */
async function tryOnIndex(
  shadow: Shadow,
  patch: string,
  signal: AbortSignal
): Promise<string[] | Application> {
  const run = (...args: string[]) => shadowGit(shadow, args, signal);
  const before = lineOf(await run('write-tree'));
  try {
    await run('apply', '--cached', '--3way', ...quiet, patch);
  } catch (error) {
    signal.throwIfAborted();
    const names = fieldsOf(await run('ls-files', '--unmerged', '-z'));
    const paths = new Set(names.map((entry) => entry.replace(/^.*?\t/, '')));
    return { ...about('conflict', [...paths]), reason: messageOf(error) };
  }
  const after = lineOf(await run('write-tree'));
  const args = ['-r', '-z', '--name-only', '--no-renames', before, after];
  return fieldsOf(await run('diff-tree', ...args));
}

async function apply(
  top: string,
  patch: string,
  paths: string[],
  signal: AbortSignal
): Promise<Application> {
  const call = { cwd: top, signal };
  try {
    await whenFree(async () => {
      // Git takes a file for edited if the index does not know its times.
      const refresh = ['update-index', '-q', '--refresh'];
      await git(refresh, call).catch(() => undefined);
      await git(['apply', '--3way', ...quiet, patch], call);
    });
  } catch (error) {
    return { ...about('refused', paths), reason: messageOf(error) };
  }
  return about('applied', paths);
}

const quiet = ['--whitespace=nowarn'];

/** The paths with staged, unstaged or untracked changes. */
async function editedIn(
  top: string,
  signal: AbortSignal
): Promise<Set<string>> {
  const args = ['--porcelain', '-z', '--no-renames', '--untracked-files=all'];
  const status = await git(['status', ...args], { cwd: top, signal });
  return new Set(fieldsOf(status).map((entry) => entry.slice(3)));
}

function fieldsOf(output: Buffer): string[] {
  return output.toString('latin1').split('\0').filter(Boolean);
}

function about(status: Application['status'], paths: string[]): Application {
  return { status, files: paths.map(readable) };
}
