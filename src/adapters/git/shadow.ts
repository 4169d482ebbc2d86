import { mkdir, readdir, realpath } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { writeNew } from '../../core/state/files/atomic-file.ts';
import { copyRegular } from './copy-file.ts';
import {
  locateRepository,
  type RepositoryLocation
} from './repository-location.ts';
import { GitError, git, matchingSettings } from './run-git.ts';

/** Our own repository, which borrows a project's files and objects. */
export interface Shadow {
  /** The project's working directory. */
  top: string;
  /** Makes git work on the shadow. */
  env: Record<string, string>;
  /** True if some committed files are not in the working directory. */
  isSparse?: boolean;
  /** Settings and patterns of the project that it does not use. */
  omitted?: string[];
}

/**
 * Creates the shadow of the repository around a directory: a copy of the
 * project's index, and an object store backed by the project's. Git writes
 * only to the shadow, never to the project's `.git`.
 * @returns undefined if there is no repository with a working directory
 */
export async function createShadow(
  directory: string,
  path: string,
  signal: AbortSignal
): Promise<Shadow | undefined> {
  const location = await locateRepository(directory, signal, {
    asked: ['--show-object-format', ...gitPaths]
  });
  if (!location) return undefined;
  const [format = '', ...paths] = location.answers;
  const [index = '', objects = '', ...patterns] = paths.map((found) =>
    resolve(directory, found)
  );
  for (const folder of ['objects/info', 'refs', 'info'])
    await mkdir(join(path, folder), { recursive: true, mode: 0o700 });
  const { settings, omitted } = await inheritSettings(location, path, signal);
  writeNew(join(path, 'HEAD'), 'ref: refs/heads/none\n');
  writeNew(join(path, 'config'), configText(format, settings));
  // The shadow can read that store, but only by object id, as git itself.
  writeNew(join(path, 'objects/info/alternates'), `${quoted(objects)}\n`);
  await copyIndex(index, path, location);
  omitted.push(...(await copyPatterns(patterns, path, location)));
  const isSparse = settings.some(
    ([key, value]) => key === 'core.sparsecheckout' && value === 'true'
  );
  return { ...shadowAt(path, location.top), isSparse, omitted };
}

const gitPaths = [
  'index',
  'objects',
  'info/exclude',
  'info/attributes'
].flatMap((path) => ['--git-path', path]);

/** The shadow that already exists at a path. */
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

/** The shadow with a copy of its index, so that comparisons can overlap. */
export async function withOwnIndex(
  shadow: Shadow,
  name: string
): Promise<Shadow> {
  const path = shadow.env.GIT_DIR ?? '';
  const index = join(path, name);
  const reason = await copyRegular(join(path, 'index'), index, {
    within: [await realpath(path)]
  });
  if (reason) throw new GitError(`${join(path, 'index')}: ${reason}`);
  return { ...shadow, env: { ...shadow.env, GIT_INDEX_FILE: index } };
}

/**
 * The shadow with a copy of the project's present index. Git reads nothing else
 * of the project, where an agent may have put a FIFO in place of a file.
 * @returns undefined if that index cannot be copied
 */
export async function withProjectIndex(
  shadow: Shadow,
  name: string,
  signal: AbortSignal
): Promise<Shadow | undefined> {
  const { top, env } = shadow;
  const location = await locateRepository(top, signal, {
    asked: ['--git-path', 'index']
  });
  const [found = ''] = location?.answers ?? [];
  if (!location || location.top !== top) return undefined;
  const { gitDir, commonDir } = location;
  const index = join(env.GIT_DIR ?? '', name);
  const terms = { within: [gitDir, commonDir] };
  return (await copyRegular(resolve(top, found), index, terms))
    ? undefined
    : { ...shadow, env: { ...env, GIT_INDEX_FILE: index } };
}

/** Runs one git command on a shadow. */
export function shadowGit(
  { top, env }: Shadow,
  args: string[],
  signal: AbortSignal,
  more: { input?: Buffer; outputTo?: number } = {}
): Promise<Buffer> {
  const settings = [
    // A shadow lives for minutes: neither size nor power failures matter.
    'core.looseCompression=0',
    'core.fsync=none',
    'core.splitIndex=false',
    'core.untrackedCache=false'
  ].flatMap((setting) => ['-c', setting]);
  return git([...settings, ...args], { cwd: top, env, signal, ...more });
}

function configText(format: string, settings: Setting[]): string {
  const isOld = format === 'sha1';
  return [
    '[core]',
    `repositoryformatversion = ${isOld ? 0 : 1}`,
    'bare = false',
    // No other user may read git's files here, whatever the umask.
    'sharedrepository = 0600',
    ...settings.map(([key, value]) => `${key.slice(5)} = ${quoted(value)}`),
    ...(isOld ? [] : ['[extensions]', `objectformat = ${format}`]),
    ''
  ].join('\n');
}

/** Quoted for git's settings and for its list of object stores. */
function quoted(text: string): string {
  const escaped = text
    .replaceAll('\\', '\\\\')
    .replaceAll('"', '\\"')
    .replaceAll('\n', '\\n');
  return `"${escaped}"`;
}

/** Copies the index and, if it is split, its parts in the same directory. */
async function copyIndex(
  index: string,
  to: string,
  { gitDir, commonDir }: RepositoryLocation
): Promise<void> {
  const from = dirname(index);
  const parts = (await readdir(from)).filter((name) =>
    name.startsWith('sharedindex.')
  );
  const terms = { within: [gitDir, commonDir] };
  const copy = async (path: string, name: string) => {
    const reason = await copyRegular(path, join(to, name), terms);
    // Without the index, every file would look new.
    if (reason) throw new GitError(`${path} was not read: ${reason}`);
  };
  await copy(index, 'index');
  for (const name of parts) await copy(join(from, name), name);
}

/**
 * Copies the repository's own ignore and attribute patterns.
 * @returns the files that were not copied, each with the reason
 */
async function copyPatterns(
  paths: string[],
  to: string,
  { gitDir, commonDir }: RepositoryLocation
): Promise<string[]> {
  const terms = { within: [gitDir, commonDir], mostBytes: mostPatternBytes };
  const omitted: string[] = [];
  for (const path of paths) {
    const name = `info/${basename(path)}`;
    const reason = await copyRegular(path, join(to, name), terms);
    if (reason) omitted.push(`.git/${name} (${reason})`);
  }
  return omitted;
}

type Setting = [key: string, value: string];

/**
 * Settings of a project that determine how a file becomes an object. A shadow
 * inherits no other setting: an agent may have changed it, and some settings
 * name programs.
 */
const inherited =
  '^core\\.(filemode|ignorecase|symlinks|autocrlf|eol|safecrlf|precomposeunicode|checkstat|trustctime|excludesfile|attributesfile|sparsecheckout|sparsecheckoutcone)$';

const files = ['core.excludesfile', 'core.attributesfile'];

/** A larger file of patterns is left out: it would only slow git down. */
const mostPatternBytes = 1024 * 1024;

/**
 * The settings that a shadow inherits. A file that the repository's own
 * configuration names is copied into the shadow if it is a regular file of
 * the work tree or the repository, because git would follow a link out of it
 * and wait for a FIFO. The user's own configuration may name any file.
 * @returns the settings, and the ones left out, each with the reason
 */
async function inheritSettings(
  { top, gitDir, commonDir }: RepositoryLocation,
  shadow: string,
  signal: AbortSignal
): Promise<{ settings: Setting[]; omitted: string[] }> {
  const within = [await realpath(top), gitDir, commonDir];
  const omitted: string[] = [];
  const settings: Setting[] = [];
  for (const { scope, key, value } of await scopedSettings(top, signal)) {
    const isProjects = scope === 'local' || scope === 'worktree';
    if (!isProjects || !files.includes(key)) {
      settings.push([key, value]);
      continue;
    }
    const copy = join(shadow, 'info', key.slice('core.'.length));
    const reason =
      value.startsWith('~') || value === ''
        ? 'it leads outside the repository'
        : await copyRegular(
            isAbsolute(value) ? value : resolve(top, value),
            copy,
            { within, mostBytes: mostPatternBytes }
          );
    if (reason === undefined) settings.push([key, copy]);
    else omitted.push(`${key} of .git/config (${reason})`);
  }
  return { settings, omitted };
}

async function scopedSettings(
  top: string,
  signal: AbortSignal
): Promise<{ scope: string; key: string; value: string }[]> {
  const call = { cwd: top, signal };
  const text = await matchingSettings(inherited, '--show-scope', call);
  const fields = text.toString().split('\0');
  const settings = [];
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [key = '', ...value] = (fields[at + 1] ?? '').split('\n');
    settings.push({
      scope: fields[at] ?? '',
      key,
      value: value.length > 0 ? value.join('\n') : 'true'
    });
  }
  return settings;
}
