import { lstat, open, rm } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { temporaryName } from '../../core/state/files/atomic-file.ts';
import { ownReadFlags } from '../../core/state/files/regular-file.ts';
import { fieldsOf, GitError, lineOf } from './run-git.ts';
import { type Shadow, shadowGit, withProjectIndex } from './shadow.ts';

// Git's paths are bytes; here they are strings with one character per byte.

/** A snapshot of a working directory, and the paths that it leaves out. */
export interface Tree {
  id: string;
  /** Nested repositories. */
  nested: string[];
  unreadable: string[];
}

/** Limit for uncommitted files: more would fill the disk and take long. */
const maximumBytes = 256 * 1024 * 1024;
/** Files examined concurrently. */
const batch = 64;

/**
 * Writes the working directory as a tree, committed or not: updates the
 * shadow's index with every file that is not ignored.
 * @param more files that count although a pattern ignores them
 */
export async function takeTree(
  shadow: Shadow,
  owned: string[],
  signal: AbortSignal,
  more: string[] = []
): Promise<Tree> {
  const ours = isOurs(shadow.top, owned);
  const differing = await differingPaths(shadow, owned, signal);
  const all = [...new Set([...differing, ...more])];
  // Sorted, so that an entry that became a directory precedes files in it.
  const paths = all.filter((path) => !ours(path)).sort();
  const nested = paths.filter((path) => path.endsWith('/')).map(readable);
  const files = paths.filter((path) => !path.endsWith('/'));
  await checkSize(shadow.top, files);
  const flags = ['--add', '--remove', '--replace'];
  let unreadable: string[] = [];
  try {
    await updateIndex(shadow, flags, files, signal);
  } catch (error) {
    unreadable = await unreadableIn(shadow.top, files);
    if (unreadable.length === 0) throw error;
    const rest = files.filter((path) => !unreadable.includes(path));
    await updateIndex(shadow, flags, rest, signal);
  }
  // A partial clone may lack objects, which are not needed here.
  const args = ['write-tree', '--missing-ok'];
  const id = lineOf(await shadowGit(shadow, args, signal));
  return { id, nested, unreadable: unreadable.map(readable) };
}

/**
 * Files that the project's own index has got since the snapshot although a
 * pattern ignores them: an agent may add them with force. None if that index
 * cannot be read.
 */
export async function addedWithForce(
  shadow: Shadow,
  signal: AbortSignal
): Promise<string[]> {
  const name = temporaryName('now');
  const args = ['ls-files', '-z', '-s', '-i', '-c', '--exclude-standard'];
  const listed = async (where: Shadow) =>
    filesIn(await shadowGit(where, args, signal));
  try {
    const present = await withProjectIndex(shadow, name, signal);
    const now = present ? await listed(present) : [];
    if (now.length === 0) return [];
    const before = new Set(await listed(shadow));
    return now.filter((path) => !before.has(path));
  } catch {
    signal.throwIfAborted();
    return [];
  } finally {
    await rm(join(shadow.env.GIT_DIR ?? '', name), { force: true });
  }
}

/** Paths of `ls-files -s`, without nested repositories. */
function filesIn(output: Buffer): string[] {
  return fieldsOf(output)
    .filter((entry) => !entry.startsWith('160000 '))
    .map((entry) => entry.slice(entry.indexOf('\t') + 1));
}

/** Files that differ from the index or are not in it. */
async function differingPaths(
  shadow: Shadow,
  owned: string[],
  signal: AbortSignal
): Promise<string[]> {
  const excluded = prefixesIn(shadow.top, owned)
    .map((prefix) => prefix.replace(/[\\*?[]/g, '\\$&'))
    .flatMap((prefix) =>
      sharedFolders.flatMap((name) => ['-x', `/${prefix}.agents/${name}/`])
    );
  const args = ['ls-files', '-z', '-m', '-o', '--exclude-standard'];
  return fieldsOf(await shadowGit(shadow, [...args, ...excluded], signal));
}

/** Troupe's folders in `.agents/`, which may also hold the project's files. */
const sharedFolders = ['agents', 'council', 'run', 'worktrees'];

const ownPaths = new RegExp(
  `^(\\.agents/(${sharedFolders.join('|')})/|logs/(IAC|CONTEXT)(\\.[^/]*)?\\.md$|logs/(archive|agents)/)`
);

/** Returns whether troupe itself writes a path, which is relative to `top`. */
export function isOurs(
  top: string,
  owned: string[]
): (path: string) => boolean {
  const prefixes = prefixesIn(top, owned).map((prefix) =>
    Buffer.from(prefix).toString('latin1')
  );
  return (path) =>
    prefixes.some(
      (prefix) =>
        path.startsWith(prefix) && ownPaths.test(path.slice(prefix.length))
    );
}

/** "" or "packages/a/" for each directory that is the top or lies below it. */
function prefixesIn(top: string, directories: string[]): string[] {
  return directories
    .map((directory) => relative(top, directory).split(sep).join('/'))
    .filter((between) => between !== '..' && !between.startsWith('../'))
    .map((between) => (between === '' ? '' : `${between}/`));
}

async function checkSize(top: string, files: string[]): Promise<void> {
  const sizes = await inBatches(files, (path) =>
    lstat(absolute(top, path)).then(
      ({ size }) => size,
      () => 0
    )
  );
  const total = sizes.reduce((sum, size) => sum + size, 0);
  if (total > maximumBytes)
    throw new GitError(
      `the files that are not committed are larger than ${maximumBytes / 1024 / 1024} MB`
    );
}

async function unreadableIn(top: string, files: string[]): Promise<string[]> {
  const paths = await inBatches(files, async (path) => {
    const file = absolute(top, path);
    const entry = await lstat(file).catch(() => undefined);
    // Git reads a link as text, and cannot store a FIFO, device or socket.
    if (!entry || entry.isSymbolicLink()) return undefined;
    if (!entry.isFile()) return entry.isDirectory() ? undefined : path;
    // Only opening the file as git does is a reliable check.
    return open(file, ownReadFlags)
      .then((handle) => handle.close())
      .then(
        () => undefined,
        () => path
      );
  });
  return paths.filter((path) => path !== undefined);
}

async function inBatches<T>(
  paths: string[],
  examine: (path: string) => Promise<T>
): Promise<T[]> {
  const found: T[] = [];
  for (let from = 0; from < paths.length; from += batch)
    found.push(
      ...(await Promise.all(paths.slice(from, from + batch).map(examine)))
    );
  return found;
}

/** The mode of a submodule in the output of `ls-files --stage`. */
export const gitlink = '160000 ';

/**
 * Makes git compare the files that the user excluded from comparison
 * (`update-index --assume-unchanged`, `--skip-worktree`), because an agent may
 * change them like any other. Only the shadow's index is changed.
 * @returns whether submodules are in the index
 */
export async function unflagIndex(
  shadow: Shadow,
  signal: AbortSignal
): Promise<boolean> {
  const args = ['ls-files', '-z', '-v', '--stage'];
  const text = await shadowGit(shadow, args, signal);
  const entries = text
    .toString('latin1')
    .split('\0')
    .map((entry) => ({
      tag: entry.slice(0, 1),
      isLink: entry.startsWith(gitlink, 2),
      path: entry.slice(entry.indexOf('\t') + 1)
    }));
  const pathsOf = (tag: RegExp) =>
    entries.filter((entry) => tag.test(entry.tag)).map(({ path }) => path);
  // In a sparse checkout git itself compares the skipped files that exist.
  const skipped: string[] = [];
  for (const path of shadow.isSparse ? [] : pathsOf(/s/i))
    if (await isThere(shadow.top, path)) skipped.push(path);
  const unchanged = pathsOf(/[a-z]/);
  await updateIndex(shadow, ['--no-assume-unchanged'], unchanged, signal);
  await updateIndex(shadow, ['--no-skip-worktree'], skipped, signal);
  return entries.some(({ isLink }) => isLink);
}

async function updateIndex(
  shadow: Shadow,
  flags: string[],
  paths: string[],
  signal: AbortSignal
): Promise<void> {
  if (paths.length === 0) return;
  const args = ['update-index', ...flags, '-z', '--stdin'];
  const input = Buffer.from(
    paths.map((path) => `${path}\0`).join(''),
    'latin1'
  );
  await shadowGit(shadow, args, signal, { input });
}

function isThere(top: string, path: string): Promise<boolean> {
  return lstat(absolute(top, path)).then(
    () => true,
    () => false
  );
}

export function absolute(top: string, path: string): Buffer {
  return Buffer.concat([
    Buffer.from(join(top, sep)),
    Buffer.from(path, 'latin1')
  ]);
}

/** A path for messages: invalid UTF-8 becomes replacement characters. */
export function readable(path: string): string {
  return Buffer.from(path, 'latin1').toString('utf8');
}
