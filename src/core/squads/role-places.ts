import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { errnoOf, HostError, messageOf } from '../errors.ts';
import { leadsOut } from '../runs/containment.ts';

/** A role file, and what it stands for. */
export interface Place {
  id: string;
  path: string;
  from: 'built-in' | 'workspace';
  /** There is a built-in role of its name, which does not count. */
  replacesBuiltIn: boolean;
}

export interface RoleDirectories {
  /** Of the package. */
  builtin: string;
  /** Of the workspace: adds to those and takes their place. */
  own: string;
  /** A link in `own` may not lead out of here. Default: `own` itself. */
  within?: string;
}

/** In bytes. What is larger is no brief, and would be read at each change. */
const largestFile = 1_000_000;

/** The coarsest clock of a file system: changes within it look alike. */
const clockMs = 2000;

/** The files that count, by id. A directory that is not there has none. */
export function placesIn(directories: RoleDirectories): Place[] {
  const { builtin, own } = directories;
  checkDirectory(directories);
  const places = new Map<string, Place>();
  for (const [from, directory] of [
    ['built-in', builtin],
    ['workspace', own]
  ] as const)
    for (const id of idsIn(directory)) {
      const path = join(directory, `${id}.md`);
      const before = places.get(id);
      // In the project of the package itself, the two are one directory.
      if (before?.path === path) continue;
      places.set(id, { id, path, from, replacesBuiltIn: before !== undefined });
    }
  return [...places.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** Even the names in a directory outside the workspace are not read. */
export function checkDirectory({ own, within = own }: RoleDirectories): void {
  if (!leadsOut(within, own)) return;
  throw new HostError(
    'config_invalid',
    `The roles in ${own} are not read: it is a link that leads outside the workspace.`,
    'The user has to put the files into the workspace, or to name the directory itself with AGENTS_DIRECTORY_PATH.'
  );
}

/** Of a role of the workspace. */
export function placeOf(
  id: string,
  { own }: RoleDirectories,
  replacesBuiltIn: boolean
): Place {
  const path = join(own, `${id}.md`);
  return { id, path, from: 'workspace', replacesBuiltIn };
}

/** Names of the role files in a directory, without their ending. */
export function idsIn(directory: string): string[] {
  return namesIn(directory)
    .filter((name) => /^[^.].*\.md$/.test(name) && !/^readme\.md$/i.test(name))
    .map((name) => name.slice(0, -'.md'.length));
}

/** The built-in role that a role of the workspace takes the place of. */
export function builtInOf(
  { id, replacesBuiltIn }: Place,
  { builtin }: RoleDirectories
): Place | undefined {
  if (!replacesBuiltIn) return undefined;
  const path = join(builtin, `${id}.md`);
  return { id, path, from: 'built-in', replacesBuiltIn: false };
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    const code = errnoOf(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return [];
    // Any role may lie there, so the built-in ones cannot be given instead.
    throw new HostError(
      'config_invalid',
      `The roles in ${directory} cannot be read (${code ?? messageOf(error)}).`,
      'The user has to make that directory readable, or to name another with AGENTS_DIRECTORY_PATH.'
    );
  }
}

/** @throws Error for what is no file that a role may lie in */
export function markOf(path: string): string | undefined {
  const file = statSync(path, { throwIfNoEntry: false });
  if (!file) throw new Error('it is a link that leads nowhere');
  // Of a pipe, for one, reading would never end.
  if (!file.isFile()) throw new Error('it is no regular file');
  if (file.size > largestFile)
    throw new Error(`it is larger than ${largestFile} bytes`);
  const { ino, size, mtimeMs, ctimeMs } = file;
  const isFresh = Date.now() - Math.max(mtimeMs, ctimeMs) < clockMs;
  return isFresh ? undefined : [ino, size, mtimeMs, ctimeMs].join(' ');
}
