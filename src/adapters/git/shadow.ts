import { mkdir, readdir, realpath } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { writeNew } from '../../core/state/atomic-file.ts';
import { copyRegular } from './copy-file.ts';
import {
  inheritSettings,
  mostPatternBytes,
  type Setting
} from './inherited-settings.ts';
import { type Place, placeOf } from './place.ts';
import { GitError, git } from './run-git.ts';

/** A repository of ours that borrows a project's files and objects. */
export interface Shadow {
  /** The project's working directory. */
  top: string;
  /** What git is told so that it works on the shadow. */
  env: Record<string, string>;
  /** Not all of what is committed is in the working directory. */
  isSparse?: boolean;
  /** Settings and patterns of the project that it does not use. */
  omitted?: string[];
}

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
  const place = await placeOf(directory, signal, {
    asked: ['--show-object-format', ...asked]
  });
  if (!place) return undefined;
  const [format = '', ...paths] = place.answers;
  const [index = '', objects = '', ...patterns] = paths.map((found) =>
    resolve(directory, found)
  );
  for (const folder of ['objects/info', 'refs', 'info'])
    await mkdir(join(path, folder), { recursive: true, mode: 0o700 });
  const { settings, omitted } = await inheritSettings(place, path, signal);
  writeNew(join(path, 'HEAD'), 'ref: refs/heads/none\n');
  writeNew(join(path, 'config'), configText(format, settings));
  // Objects of another store come out only by their id, as in git itself.
  writeNew(join(path, 'objects/info/alternates'), `${quoted(objects)}\n`);
  await copyIndex(index, path, place);
  omitted.push(...(await copyPatterns(patterns, path, place)));
  const isSparse = settings.some(
    ([key, value]) => key === 'core.sparsecheckout' && value === 'true'
  );
  return { ...shadowAt(path, place.top), isSparse, omitted };
}

const asked = ['index', 'objects', 'info/exclude', 'info/attributes'].flatMap(
  (path) => ['--git-path', path]
);

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
  const reason = await copyRegular(join(path, 'index'), index, {
    within: [await realpath(path)],
    mostBytes: Number.POSITIVE_INFINITY
  });
  if (reason) throw new GitError(`${join(path, 'index')}: ${reason}`);
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

function configText(format: string, settings: Setting[]): string {
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
async function copyIndex(
  index: string,
  to: string,
  place: Place
): Promise<void> {
  const from = dirname(index);
  const parts = (await readdir(from)).filter((name) =>
    name.startsWith('sharedindex.')
  );
  const terms = {
    within: [place.own, place.common],
    mostBytes: Number.POSITIVE_INFINITY
  };
  const copy = async (path: string, name: string) => {
    const reason = await copyRegular(path, join(to, name), terms);
    // Without it, every file would look new.
    if (reason) throw new GitError(`${path} was not read: ${reason}`);
  };
  await copy(index, 'index');
  for (const name of parts) await copy(join(from, name), name);
}

/** Patterns of the repository. @returns what was left out */
async function copyPatterns(
  paths: string[],
  to: string,
  { own, common }: Place
): Promise<string[]> {
  const terms = { within: [own, common], mostBytes: mostPatternBytes };
  const omitted: string[] = [];
  for (const path of paths) {
    const name = `info/${basename(path)}`;
    const reason = await copyRegular(path, join(to, name), terms);
    if (reason) omitted.push(`.git/${name} (${reason})`);
  }
  return omitted;
}
