import { lstat, open } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { ownReadFlags } from '../../core/state/regular-file.ts';
import { GitError } from './run-git.ts';
import { type Shadow, shadowGit } from './shadow.ts';

/** A working directory as one object, and what is not in it. */
export interface Tree {
  id: string;
  /** Repositories of their own below it. */
  nested: string[];
  unreadable: string[];
}

/** More that is not committed would fill the disk, and take too long. */
const maximumBytes = 256 * 1024 * 1024;
/** Files looked at side by side. */
const batch = 64;

/**
 * Writes the working directory as a tree, whatever is committed: the shadow's
 * index is brought up to date with every file that is not ignored.
 * Paths are bytes; here they are kept one character a byte.
 */
export async function takeTree(
  shadow: Shadow,
  roots: string[],
  signal: AbortSignal
): Promise<Tree> {
  const ours = isOurs(shadow.top, roots);
  const differing = await differingPaths(shadow, roots, signal);
  // What is a directory by now has to go before what is in it comes.
  const paths = differing.filter((path) => !ours(path)).sort();
  const nested = paths.filter((path) => path.endsWith('/')).map(readable);
  const files = paths.filter((path) => !path.endsWith('/'));
  await checkSize(shadow.top, files);
  let unreadable: string[] = [];
  try {
    await update(shadow, files, signal);
  } catch (error) {
    unreadable = await closedTo(shadow.top, files);
    if (unreadable.length === 0) throw error;
    const others = files.filter((path) => !unreadable.includes(path));
    await update(shadow, others, signal);
  }
  // In a partial clone objects may be missing that nobody needs here.
  const args = ['write-tree', '--missing-ok'];
  const id = (await shadowGit(shadow, args, signal)).toString().trim();
  return { id, nested, unreadable: unreadable.map(readable) };
}

/** Files that are not as the index has them, and those it does not have. */
async function differingPaths(
  shadow: Shadow,
  roots: string[],
  signal: AbortSignal
): Promise<string[]> {
  const excluded = roots
    .map((root) => prefixOf(shadow.top, root))
    .filter((prefix) => prefix !== undefined)
    .map((prefix) => prefix.replace(/[\\*?[]/g, '\\$&'))
    .flatMap((prefix) =>
      sharedFolders.flatMap((name) => ['-x', `/${prefix}.agents/${name}/`])
    );
  const args = ['ls-files', '-z', '-m', '-o', '--exclude-standard'];
  const text = await shadowGit(shadow, [...args, ...excluded], signal);
  return [...new Set(text.toString('latin1').split('\0'))].filter(Boolean);
}

/** What troupe has in `.agents/`, which may hold files of the project too. */
const sharedFolders = ['agents', 'council', 'run', 'worktrees'];

const written = new RegExp(
  `^(\\.agents/(${sharedFolders.join('|')})/|logs/(IAC|CONTEXT)(\\.[^/]*)?\\.md$|logs/(archive|agents)/)`
);

/** True for what troupe itself writes into a workspace. */
export function isOurs(
  top: string,
  roots: string[]
): (path: string) => boolean {
  const prefixes = roots
    .map((root) => prefixOf(top, root))
    .filter((prefix) => prefix !== undefined)
    .map((prefix) => Buffer.from(prefix).toString('latin1'));
  return (path) =>
    prefixes.some(
      (prefix) =>
        path.startsWith(prefix) && written.test(path.slice(prefix.length))
    );
}

/** "" or "packages/a/"; undefined for what lies outside. */
function prefixOf(top: string, root: string): string | undefined {
  const between = relative(top, root).split(sep).join('/');
  if (between === '') return '';
  return between === '..' || between.startsWith('../')
    ? undefined
    : `${between}/`;
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

async function update(
  shadow: Shadow,
  files: string[],
  signal: AbortSignal
): Promise<void> {
  if (files.length === 0) return;
  const flags = ['--add', '--remove', '--replace', '-z', '--stdin'];
  await shadowGit(shadow, ['update-index', ...flags], signal, {
    input: Buffer.from(`${files.join('\0')}\0`, 'latin1')
  });
}

async function closedTo(top: string, files: string[]): Promise<string[]> {
  const closed = await inBatches(files, async (path) => {
    const file = absolute(top, path);
    const entry = await lstat(file).catch(() => undefined);
    // Git reads links as such, and can store no FIFO, device or socket.
    if (!entry || entry.isSymbolicLink()) return undefined;
    if (!entry.isFile()) return entry.isDirectory() ? undefined : path;
    // As git will do it: only that tells for sure.
    return open(file, ownReadFlags)
      .then((handle) => handle.close())
      .then(
        () => undefined,
        () => path
      );
  });
  return closed.filter((path) => path !== undefined);
}

async function inBatches<T>(
  paths: string[],
  look: (path: string) => Promise<T>
): Promise<T[]> {
  const found: T[] = [];
  for (let from = 0; from < paths.length; from += batch)
    found.push(
      ...(await Promise.all(paths.slice(from, from + batch).map(look)))
    );
  return found;
}

function absolute(top: string, path: string): Buffer {
  return Buffer.concat([
    Buffer.from(join(top, sep)),
    Buffer.from(path, 'latin1')
  ]);
}

/** For people: what is no UTF-8 shows as replacement characters. */
export function readable(path: string): string {
  return Buffer.from(path, 'latin1').toString('utf8');
}
