import {
  chmod,
  copyFile,
  mkdir,
  readdir,
  stat,
  utimes
} from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { errnoOf } from '../../core/errors.ts';
import { writeNew } from '../../core/state/atomic-file.ts';
import { absentAs, GitError, git } from './run-git.ts';

/** A repository of ours that borrows a project's files and objects. */
export interface Shadow {
  /** The project's working directory. */
  top: string;
  /** What git is told so that it works on the shadow. */
  env: Record<string, string>;
  /** Not all of what is committed is in the working directory. */
  isSparse?: boolean;
}

/**
 * Settings of a project that decide how a file becomes an object. The others
 * are not taken over: an agent may have written them, and some are programs.
 */
const inherited =
  '^core\\.(filemode|ignorecase|symlinks|autocrlf|eol|safecrlf|precomposeunicode|checkstat|trustctime|excludesfile|attributesfile|sparsecheckout|sparsecheckoutcone)$';

/**
 * Makes the shadow of the repository around a directory: an index copied from
 * the project's, an object store that has the project's behind it, and nothing
 * else. All that git writes lands in it, never in the project's `.git`.
 * Undefined when there is no repository with a working directory.
 */
export async function createShadow(
  directory: string,
  path: string,
  signal: AbortSignal
): Promise<Shadow | undefined> {
  const facts = await factsOf(directory, signal);
  if (!facts) return undefined;
  const { top, index, objects, exclude, attributes, format } = facts;
  for (const folder of ['objects/info', 'refs', 'info'])
    await mkdir(join(path, folder), { recursive: true, mode: 0o700 });
  const written = await settingsOf(directory, signal);
  writeNew(join(path, 'HEAD'), 'ref: refs/heads/none\n');
  writeNew(join(path, 'config'), configText(format, written));
  writeNew(join(path, 'objects/info/alternates'), `${quoted(objects)}\n`);
  await Promise.all([
    copyIfThere(index, join(path, 'index')),
    copySharedIndexes(dirname(index), path),
    copyIfThere(exclude, join(path, 'info/exclude')),
    copyIfThere(attributes, join(path, 'info/attributes'))
  ]);
  const isSparse = written.some(
    ([key, value]) => key === 'core.sparsecheckout' && value === 'true'
  );
  return { ...shadowAt(path, top), isSparse };
}

/** A shadow that was made before. */
export function shadowAt(path: string, top: string): Shadow {
  return {
    top,
    env: {
      GIT_DIR: path,
      GIT_WORK_TREE: top,
      GIT_INDEX_FILE: join(path, 'index')
    }
  };
}

/** The same with an index of its own, for who looks at the same time. */
export async function withOwnIndex(
  shadow: Shadow,
  name: string
): Promise<Shadow> {
  const path = shadow.env.GIT_DIR ?? '';
  const index = join(path, name);
  await copyIfThere(join(path, 'index'), index);
  return { ...shadow, env: { ...shadow.env, GIT_INDEX_FILE: index } };
}

/** One git command on a shadow. */
export function shadowGit(
  { top, env }: Shadow,
  args: string[],
  signal: AbortSignal,
  more: { input?: Buffer; outputTo?: number } = {}
): Promise<Buffer> {
  const settings = [
    // A shadow lives for minutes: neither room nor a power cut matter.
    'core.looseCompression=0',
    'core.fsync=none',
    'core.splitIndex=false',
    'core.untrackedCache=false'
  ].flatMap((setting) => ['-c', setting]);
  return git([...settings, ...args], { cwd: top, env, signal, ...more });
}

interface Facts {
  top: string;
  index: string;
  objects: string;
  exclude: string;
  attributes: string;
  format: string;
}

async function factsOf(
  directory: string,
  signal: AbortSignal
): Promise<Facts | undefined> {
  const paths = ['index', 'objects', 'info/exclude', 'info/attributes'];
  const args = paths.flatMap((path) => ['--git-path', path]);
  const asked = ['--show-toplevel', '--show-object-format', ...args];
  const call = { cwd: directory, signal };
  const text = await git(['rev-parse', ...asked], call).catch(
    absentAs(undefined)
  );
  if (!text) return undefined;
  const lines = text.toString().trimEnd().split('\n');
  // Rather no answer than one about another place.
  if (lines.length !== asked.length - paths.length)
    throw new GitError('the path of the repository holds a line break');
  const [top = '', format = '', ...found] = lines;
  const [index = '', objects = '', exclude = '', attributes = ''] = found.map(
    (path) => resolve(directory, path)
  );
  return { top, index, objects, exclude, attributes, format };
}

async function settingsOf(
  directory: string,
  signal: AbortSignal
): Promise<[key: string, value: string][]> {
  const call = { cwd: directory, signal };
  const args = ['config', '-z', '--get-regexp', inherited];
  const text = await git(args, call).catch((error: unknown) => {
    // Git says nothing when there is no such setting.
    if (error instanceof GitError && error.message === 'git exited 1')
      return Buffer.alloc(0);
    throw error;
  });
  return text
    .toString()
    .split('\0')
    .filter(Boolean)
    .map((entry) => {
      const [key = '', ...value] = entry.split('\n');
      return [key, value.length > 0 ? value.join('\n') : 'true'];
    });
}

function configText(format: string, settings: [string, string][]): string {
  const isOld = format === 'sha1';
  return [
    '[core]',
    `repositoryformatversion = ${isOld ? 0 : 1}`,
    'bare = false',
    // Whatever the mask: nobody else is to read what git writes here.
    'sharedrepository = 0600',
    ...settings.map(([key, value]) => `${key.slice(5)} = ${quoted(value)}`),
    ...(isOld ? [] : ['[extensions]', `objectformat = ${format}`]),
    ''
  ].join('\n');
}

/** As both git's settings and its list of object stores take a text. */
function quoted(text: string): string {
  const escaped = text
    .replaceAll('\\', '\\\\')
    .replaceAll('"', '\\"')
    .replaceAll('\n', '\\n');
  return `"${escaped}"`;
}

/** Where an index is split, its other parts lie beside it. */
async function copySharedIndexes(from: string, to: string): Promise<void> {
  for (const name of await readdir(from))
    if (name.startsWith('sharedindex.'))
      await copyIfThere(join(from, name), join(to, basename(name)));
}

/**
 * A copy as old as its original, in whole seconds: by the age of its index git
 * knows which files could have changed unseen within one tick of the clock.
 */
async function copyIfThere(from: string, to: string): Promise<void> {
  try {
    const { mtimeMs } = await stat(from);
    await copyFile(from, to);
    await chmod(to, 0o600);
    const seconds = Math.floor(mtimeMs / 1000);
    await utimes(to, seconds, seconds);
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error;
  }
}
