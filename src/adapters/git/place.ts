import { existsSync, type Stats } from 'node:fs';
import { lstat, realpath, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { isInside } from '../../core/paths/troupe-home.ts';
import { headOf } from '../../core/state/text-file.ts';
import { absentAs, GitError, git } from './run-git.ts';

/** Where a repository lies; `.git` and git agree about it. */
export interface Place {
  /** The directory of the `.git`, which is the top of the work tree. */
  top: string;
  /** Real path of git's own directory, of this work tree alone. */
  own: string;
  /** Real path of the directory that all work trees share. */
  common: string;
  /** What else was asked of `git rev-parse`, a line each. */
  answers: string[];
}

/** The directory at or above another that has a `.git`. */
export function topOf(directory: string): string | undefined {
  if (existsSync(join(directory, '.git'))) return directory;
  const above = dirname(directory);
  return above === directory ? undefined : topOf(above);
}

/** The longest path of a system, and what stands before it. */
const mostLineBytes = 8192;

/** Files that git opens for every command. */
const opened = [
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

/** Files that git opens when it looks at a work tree with its own settings. */
const settings = ['info/attributes', 'info/exclude', 'info/sparse-checkout'];

/**
 * Finds the repository around a directory. Its settings can name any other
 * directory as its work tree, and a `.git` file any other repository: files
 * of the user's would be read there, and commands obey its configuration.
 * @param withSettings git is to use the repository's own settings next
 * @returns undefined when there is no repository with a work tree
 * @throws GitError for a repository that leads elsewhere, or holds a file that
 *   git would wait for
 */
export async function placeOf(
  directory: string,
  signal: AbortSignal,
  { asked = [], withSettings = false }: PlaceOptions = {}
): Promise<Place | undefined> {
  const above = topOf(directory);
  const named = above === undefined ? undefined : await namedBy(above);
  const names = withSettings ? [...opened, ...settings] : opened;
  if (named !== undefined) await checkFiles(named, names);
  const questions = [
    '--show-toplevel',
    '--absolute-git-dir',
    '--git-common-dir',
    ...asked
  ];
  const call = { cwd: directory, signal };
  const text = await git(['rev-parse', ...questions], call).catch(
    absentAs(undefined)
  );
  if (!text) return undefined;
  const [top = '', own = '', common = '', ...answers] = text
    .toString()
    .trimEnd()
    .split('\n');
  // Rather no answer than one about another place.
  if (answers.length !== asked.filter((word) => word !== '--git-path').length)
    throw new GitError('the path of the repository holds a line break');
  const found = {
    top,
    own: await realpath(own),
    common: await realpath(resolve(directory, common)),
    answers
  };
  await checkPlace(found, above, named, call);
  return found;
}

interface PlaceOptions {
  /** More questions to `git rev-parse`, with one line of answer each. */
  asked?: string[];
  withSettings?: boolean;
}

/** The directory that a `.git` stands for; undefined when it is no use. */
async function namedBy(top: string): Promise<string | undefined> {
  const path = join(top, '.git');
  const there = await stat(path);
  if (there.isDirectory()) return path;
  if (!there.isFile()) throw new GitError(`${path} is no regular file`);
  const line = firstLine(path);
  return line?.startsWith('gitdir: ')
    ? resolve(top, line.slice('gitdir: '.length))
    : undefined;
}

/** Git would wait for the other end of a FIFO until it is killed. */
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
        const there = await stat(path).catch(() => undefined);
        if (there && !there.isFile())
          throw new GitError(`${path} is no regular file`);
      })
  );
}

async function checkPlace(
  { top, own, common }: Place,
  above: string | undefined,
  named: string | undefined,
  call: { cwd: string; signal: AbortSignal }
): Promise<void> {
  const realTop = await realpath(top);
  if (above === undefined || (await realpath(above)) !== realTop)
    throw new GitError(
      `its work tree is ${top}, and its .git lies elsewhere (core.worktree)`
    );
  const entry = join(above, '.git');
  if (named === undefined || (await realpath(named)) !== own)
    throw new GitError(`git takes ${own} for the repository, not ${entry}`);
  const isBelow = isInside(join(common, 'worktrees'), own);
  if (common !== own && !isBelow && !isInside(realTop, common))
    throw new GitError(`${own} leads to another repository (commondir)`);
  if (isInside(realTop, own)) return;
  const there = await lstat(entry);
  const isOurs =
    !there.isSymbolicLink() && (await namesBack(own, realTop, there, call));
  if (!isOurs)
    throw new GitError(`${entry} leads to ${own}, which does not lead back`);
}

/** A worktree's directory names its `.git`; a submodule's, its work tree. */
async function namesBack(
  own: string,
  top: string,
  entry: Stats,
  call: { cwd: string; signal: AbortSignal }
): Promise<boolean> {
  const back = firstLine(join(own, 'gitdir'));
  if (back !== undefined) {
    const there = await stat(resolve(own, back)).catch(() => undefined);
    return there?.ino === entry.ino && there.dev === entry.dev;
  }
  const args = ['config', '--local', '--get', 'core.worktree'];
  const text = await git(args, call).catch(() => undefined);
  const named = text?.toString().trimEnd();
  if (!named) return false;
  return (await realpath(resolve(own, named)).catch(() => '')) === top;
}

/** Of a small file of git's; undefined when there is none. */
function firstLine(path: string): string | undefined {
  return headOf(path, mostLineBytes).split('\n', 1)[0] || undefined;
}
