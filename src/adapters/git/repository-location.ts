import { existsSync, type Stats } from 'node:fs';
import { lstat, realpath, stat } from 'node:fs/promises';
import { delimiter, dirname, join, resolve } from 'node:path';
import { isInside } from '../../core/paths/troupe-home.ts';
import { headOf } from '../../core/state/files/text-file.ts';
import { GitError, git, ignoreNoRepository, lineOf } from './run-git.ts';

/** The paths of a repository, checked: its `.git` and git agree on them. */
export interface RepositoryLocation {
  /** The directory that contains `.git`, which is the top of the work tree. */
  top: string;
  /** Real path of git's directory for this work tree alone. */
  gitDir: string;
  /** Real path of the git directory that all work trees share. */
  commonDir: string;
  /** The output lines for the additional arguments of `git rev-parse`. */
  answers: string[];
}

/** The nearest directory that contains a `.git`, at or above `directory`. */
export function topOf(directory: string): string | undefined {
  if (existsSync(join(directory, '.git'))) return directory;
  const above = dirname(directory);
  const isLast = above === directory || ceilings().includes(above);
  return isLast ? undefined : topOf(above);
}

/** The directories in which, and above which, git does not look. */
function ceilings(): string[] {
  return (process.env.GIT_CEILING_DIRECTORIES ?? '').split(delimiter);
}

/** Enough for the longest path of any platform and its prefix. */
const mostLineBytes = 8192;

/** Files that git opens for every command. */
const commonFiles = [
  'HEAD',
  'commondir',
  'config',
  'config.worktree',
  'gitdir',
  'index',
  'info/grafts',
  'objects/info/alternates',
  'packed-refs',
  'shallow'
];

/** Files that git also opens when it uses the repository's own settings. */
const settingsFiles = [
  'info/attributes',
  'info/exclude',
  'info/sparse-checkout'
];

/**
 * Finds the repository around a directory and checks its paths. A repository's
 * settings can name any directory as the work tree, and a `.git` file can name
 * any repository: git would read the user's files there and obey that
 * configuration.
 * @param withSettings the next command uses the repository's own settings
 * @returns undefined if there is no repository with a work tree
 * @throws GitError for a repository that leads elsewhere, or that contains a
 *   FIFO on which git would block
 */
export async function locateRepository(
  directory: string,
  signal: AbortSignal,
  { asked = [], withSettings = false }: LocateOptions = {}
): Promise<RepositoryLocation | undefined> {
  const above = topOf(directory);
  const named = above === undefined ? undefined : await gitDirNamedBy(above);
  const names = withSettings ? [...commonFiles, ...settingsFiles] : commonFiles;
  if (named !== undefined) await checkFiles(named, names);
  const args = [
    '--show-toplevel',
    '--absolute-git-dir',
    '--git-common-dir',
    ...asked
  ];
  const call = { cwd: directory, signal };
  const text = await git(['rev-parse', ...args], call).catch(
    ignoreNoRepository
  );
  if (!text) return undefined;
  const [top = '', gitDir = '', commonDir = '', ...answers] =
    lineOf(text).split('\n');
  // A line break in a path would assign the lines to the wrong arguments.
  if (answers.length !== asked.filter((word) => word !== '--git-path').length)
    throw new GitError('the path of the repository holds a line break');
  const found = {
    top,
    gitDir: await realpath(gitDir),
    commonDir: await realpath(resolve(directory, commonDir)),
    answers
  };
  await checkLocation(found, above, named, call);
  return found;
}

interface LocateOptions {
  /** More arguments of `git rev-parse`, with one line of output each. */
  asked?: string[];
  withSettings?: boolean;
}

/** The git directory that `.git` is or names; undefined if it names none. */
async function gitDirNamedBy(top: string): Promise<string | undefined> {
  const path = join(top, '.git');
  const stats = await stat(path);
  if (stats.isDirectory()) return path;
  if (!stats.isFile()) throw new GitError(`${path} is not a regular file`);
  const line = firstLine(path);
  return line?.startsWith('gitdir: ')
    ? resolve(top, line.slice('gitdir: '.length))
    : undefined;
}

/** Rejects a FIFO: git would wait for its other end until it is killed. */
async function checkFiles(directory: string, names: string[]): Promise<void> {
  const common = firstLine(join(directory, 'commondir'));
  const directories =
    common === undefined
      ? [directory]
      : [directory, resolve(directory, common)];
  await Promise.all(
    directories
      .flatMap((folder) => names.map((name) => join(folder, name)))
      .map(async (path) => {
        const stats = await stat(path).catch(() => undefined);
        if (stats && !stats.isFile())
          throw new GitError(`${path} is not a regular file`);
      })
  );
}

/** @throws GitError if `.git` and git disagree on a path */
async function checkLocation(
  { top, gitDir, commonDir }: RepositoryLocation,
  above: string | undefined,
  named: string | undefined,
  call: { cwd: string; signal: AbortSignal }
): Promise<void> {
  const realTop = await realpath(top);
  if (above === undefined || (await realpath(above)) !== realTop)
    throw new GitError(
      `its work tree is ${top}, and its .git is elsewhere (core.worktree)`
    );
  const entry = join(above, '.git');
  if (named === undefined || (await realpath(named)) !== gitDir)
    throw new GitError(`git takes ${gitDir} for the repository, not ${entry}`);
  const isBelow = isInside(join(commonDir, 'worktrees'), gitDir);
  if (commonDir !== gitDir && !isBelow && !isInside(realTop, commonDir))
    throw new GitError(`${gitDir} leads to another repository (commondir)`);
  if (isInside(realTop, gitDir)) return;
  const stats = await lstat(entry);
  const isMutual =
    !stats.isSymbolicLink() && (await namesBack(gitDir, realTop, stats, call));
  if (!isMutual)
    throw new GitError(`${entry} leads to ${gitDir}, which does not lead back`);
}

/**
 * Whether a git directory refers back to the work tree: that of a worktree
 * names the `.git` file, and that of a submodule names the work tree.
 */
async function namesBack(
  gitDir: string,
  top: string,
  entry: Stats,
  call: { cwd: string; signal: AbortSignal }
): Promise<boolean> {
  const back = firstLine(join(gitDir, 'gitdir'));
  if (back !== undefined) {
    const stats = await stat(resolve(gitDir, back)).catch(() => undefined);
    return stats?.ino === entry.ino && stats.dev === entry.dev;
  }
  const args = ['config', '--local', '--get', 'core.worktree'];
  const text = await git(args, call).catch(() => undefined);
  const named = text && lineOf(text);
  if (!named) return false;
  return (await realpath(resolve(gitDir, named)).catch(() => '')) === top;
}

/** The first line of one of git's small files; undefined if it is missing. */
function firstLine(path: string): string | undefined {
  return headOf(path, mostLineBytes).split('\n', 1)[0] || undefined;
}
