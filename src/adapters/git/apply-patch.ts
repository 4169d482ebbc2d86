import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../../core/errors.ts';
import { temporaryName } from '../../core/state/files/atomic-file.ts';
import { filteredPaths } from './filtered-paths.ts';
import { inTheWay, type PathChange } from './in-the-way.ts';
import { type KeptFiles, keepFiles, putBack } from './kept-files.ts';
import { fieldsOf, GitError, git, lineOf } from './run-git.ts';
import { createShadow, type Shadow, shadowGit } from './shadow.ts';
import { readable } from './take-tree.ts';
import { whenFree } from './worktrees.ts';

export interface Application {
  /**
   * `nothing`: the files have these changes already. `overlap`: files with
   * uncommitted edits or untracked files are in the way. `filtered`: a filter
   * of git changes files, so that the patch lacks content. `partial`: git failed
   * halfway, and the files named here could not be restored. With all but
   * `applied` and `partial`, no file has changed.
   */
  status:
    | 'applied'
    | 'nothing'
    | 'conflict'
    | 'overlap'
    | 'filtered'
    | 'refused'
    | 'partial';
  /** The files that this status is about, relative to the top. */
  files: string[];
  /** Git's own words, if it gave a reason. */
  reason?: string;
}

/**
 * Applies a patch to a work tree and its index as `git apply --3way` does, but
 * only as a whole: it is first tried on a copy of the index, so that a conflict
 * leaves no marks, and what git has written is restored if git fails. The
 * copies are next to the patch for a moment.
 * @param top the top of the work tree
 * @param signal ends the checks; once git writes, it is not interrupted
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
    const paths = Array.isArray(tried)
      ? tried.map(({ path }) => path)
      : await pathsIn(shadow, patch, signal);
    const filtered = await filteredPaths(shadow, paths, signal);
    if (filtered.length > 0) return about('filtered', filtered);
    if (!Array.isArray(tried)) return tried;
    if (tried.length === 0) return { status: 'nothing', files: [] };
    const edited = await editedIn(top, signal);
    const overlap = new Set([
      ...paths.filter((path) => edited.has(path)),
      ...(await inTheWay(top, tried))
    ]);
    if (overlap.size > 0) return about('overlap', [...overlap]);
    // Git takes a file for edited if the index does not know its times.
    const refresh = ['update-index', '-q', '--refresh'];
    await git(refresh, { cwd: top, signal }).catch(() => undefined);
    signal.throwIfAborted();
    return await apply(top, patch, tried, join(scratch, 'kept'));
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** The paths that the patch names, though it does not apply. */
async function pathsIn(
  shadow: Shadow,
  patch: string,
  signal: AbortSignal
): Promise<string[]> {
  const args = ['apply', '--numstat', '-z', patch];
  const lines = await shadowGit(shadow, args, signal).catch(() => {
    // The patch is damaged, which its conflict says already.
    signal.throwIfAborted();
    return Buffer.alloc(0);
  });
  return fieldsOf(lines).map((line) => line.split('\t').slice(2).join('\t'));
}

/** What the patch changes in the index, or why it does not apply. */
async function tryOnIndex(
  shadow: Shadow,
  patch: string,
  signal: AbortSignal
): Promise<PathChange[] | Application> {
  const run = (...args: string[]) => shadowGit(shadow, args, signal);
  const before = lineOf(await run('write-tree'));
  try {
    await run('apply', '--cached', '--3way', ...quiet, patch);
  } catch (error) {
    signal.throwIfAborted();
    const names = fieldsOf(await run('ls-files', '--unmerged', '-z'));
    const paths = new Set(names.map((entry) => entry.replace(/^.*?\t/, '')));
    await run('read-tree', '--reset', before);
    if (await isThere(run, patch)) return [];
    signal.throwIfAborted();
    return { ...about('conflict', [...paths]), reason: reasonIn(error) };
  }
  const after = lineOf(await run('write-tree'));
  const args = ['-r', '-z', '--raw', '--no-abbrev', '--no-renames'];
  return changesIn(fieldsOf(await run('diff-tree', ...args, before, after)));
}

/**
 * Whether the index has all changes of the patch. Git refuses to delete or
 * rename once more what is gone, but then takes the patch back.
 */
function isThere(
  run: (...args: string[]) => Promise<unknown>,
  patch: string
): Promise<boolean> {
  const args = ['--cached', '--check', '--reverse', ...quiet, patch];
  return run('apply', ...args).then(
    () => true,
    () => false
  );
}

/** Parses `--raw -z`: modes, objects and a letter; then the path. */
function changesIn(fields: string[]): PathChange[] {
  const changes: PathChange[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [mode = '', , object = '', , letter] = (fields[at] ?? '').split(' ');
    changes.push({
      path: fields[at + 1] ?? '',
      before: `${mode.slice(1)} ${object}`,
      isNew: letter === 'A',
      isRemoved: letter === 'D'
    });
  }
  return changes;
}

async function apply(
  top: string,
  patch: string,
  changes: PathChange[],
  folder: string
): Promise<Application> {
  const paths = changes.map(({ path }) => path);
  let kept: KeptFiles | undefined;
  try {
    kept = await keepFiles(top, paths, folder);
    const call = { cwd: top, signal: unlimited };
    await whenFree(() => git(['apply', '--3way', ...quiet, patch], call));
  } catch (error) {
    const left = kept ? await putBack(kept) : [];
    if (kept && !(await restoreIndex(top, changes))) left.push(...paths);
    const found = about(left.length > 0 ? 'partial' : 'refused', [
      ...new Set(left.length > 0 ? left : paths)
    ]);
    return { ...found, reason: reasonIn(error) };
  }
  return about('applied', paths);
}

/** Killed while it writes, git would leave half of the files changed. */
const unlimited = new AbortController().signal;

/**
 * Restores the paths in the index, which git writes last or with conflicts.
 * @returns whether the index is as it was
 */
async function restoreIndex(
  top: string,
  changes: PathChange[]
): Promise<boolean> {
  const call = { cwd: top, signal: unlimited };
  const indexed = async () => {
    const entries = fieldsOf(await git(['ls-files', '-z', '--stage'], call));
    const paths = new Set(changes.map(({ path }) => path));
    const isOurs = (entry: string) => paths.has(entry.replace(/^.*?\t/s, ''));
    return entries.filter(isOurs).sort().join('\0');
  };
  const entriesOf = (areNew: boolean) =>
    changes
      .filter(({ isNew }) => isNew === areNew)
      .map(({ path, before }) => `${before} 0\t${path}`);
  const before = entriesOf(false);
  try {
    if ((await indexed()) === before.sort().join('\0')) return true;
    // Mode 0 removes an entry: first, as a file may replace a directory.
    const lines = [...entriesOf(true), ...before].map((line) => `${line}\0`);
    const input = Buffer.from(lines.join(''), 'latin1');
    const args = ['update-index', '-z', '--index-info'];
    await whenFree(() => git(args, { ...call, input }));
    return true;
  } catch {
    return false;
  }
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

/** The errors that git printed, without what went well. */
function reasonIn(error: unknown): string {
  const lines = messageOf(error).split('; ');
  const errors = lines.filter((line) => /^(error|fatal): /.test(line));
  return (errors.length > 0 ? errors : lines).join('; ');
}

function about(status: Application['status'], paths: string[]): Application {
  return { status, files: paths.map(readable) };
}
