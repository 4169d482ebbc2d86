import { lstatSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { errnoOf, HostError, messageOf } from '../errors.ts';
import { leadsOut } from '../runs/containment.ts';
import { readRegular } from '../state/regular-file.ts';
import { loadYaml, type ParseYaml, parseRole, type Role } from './role-file.ts';

/** A role file, and what it stands for. */
interface Place {
  id: string;
  path: string;
  from: 'built-in' | 'workspace';
  /** There is a built-in role of its name, which does not count. */
  replacesBuiltIn: boolean;
}

export interface LocatedRole extends Role, Place {}

/** A role file that cannot be used. */
export interface RoleFault extends Place {
  problem: string;
}

/** Both by id. */
export interface RoleList {
  roles: LocatedRole[];
  faults: RoleFault[];
}

export interface RoleDirectories {
  /** Of the package. */
  builtin: string;
  /** Of the workspace: adds to those and takes their place. */
  own: string;
  /** A link in `own` may not lead out of here. Default: `own` itself. */
  within?: string;
}

/** What a file was when it was looked at last. */
interface Known extends Judged {
  /** Changes whenever the file does; without it, only reading can tell. */
  mark: string | undefined;
  /** Undefined when it could not be read. */
  text: string | undefined;
}

interface Judged {
  role?: Role;
  problem?: string;
}

/** In bytes. What is larger is no brief, and would be read at each change. */
const largestFile = 1_000_000;

/** The coarsest clock of a file system: changes within it look alike. */
const clockMs = 2000;

/** In characters: YAML's errors may quote what they found. */
const longestProblem = 300;

/**
 * The roles there are, read from their files. A file is read again when it
 * has changed, and one that cannot be used hides no other; a built-in role
 * does not come back because the file that replaces it is broken.
 */
export class RoleRepository {
  readonly directories: RoleDirectories;
  readonly #onFault: (fault: RoleFault) => void;
  #parse: ParseYaml | undefined;
  #known = new Map<string, Known>();

  /** @param onFault called once for every broken state of a file */
  constructor(
    directories: RoleDirectories,
    onFault: (fault: RoleFault) => void
  ) {
    this.directories = directories;
    this.#onFault = onFault;
  }

  /** @throws HostError `config_invalid` for a directory that cannot be read */
  async all(): Promise<RoleList> {
    this.#parse ??= await loadYaml();
    const parse = this.#parse;
    // Nothing waits from here on: of calls side by side, one tells a fault.
    const known = new Map<string, Known>();
    const list: RoleList = { roles: [], faults: [] };
    for (const place of placesIn(this.directories)) {
      const before = this.#known.get(place.path);
      const now = look(place, before, parse, this.directories);
      if (!now) continue;
      known.set(place.path, now);
      const { role, problem, text } = now;
      if (role) list.roles.push({ ...role, ...place });
      if (problem === undefined) continue;
      const fault = { ...place, problem };
      list.faults.push(fault);
      if (before?.problem !== problem || before.text !== text)
        this.#onFault(fault);
    }
    this.#known = known;
    return list;
  }
}

/** What the user is told of a file that cannot be used. */
export function describeFault(fault: RoleFault): string {
  const { id, path, problem, replacesBuiltIn } = fault;
  const facts = `The role ${path} cannot be used: ${problem}.`;
  return replacesBuiltIn
    ? `${facts} The built-in role "${id}" does not take its place.`
    : facts;
}

/** The files that count, by id. A directory that is not there has none. */
function placesIn(directories: RoleDirectories): Place[] {
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
function checkDirectory({ own, within = own }: RoleDirectories): void {
  if (!leadsOut(within, own)) return;
  throw new HostError(
    'config_invalid',
    `The roles in ${own} are not read: it is a link that leads outside the workspace.`,
    'The user has to put the files into the workspace, or to name the directory itself with AGENTS_DIRECTORY_PATH.'
  );
}

function idsIn(directory: string): string[] {
  return namesIn(directory)
    .filter((name) => /^[^.].*\.md$/.test(name) && !/^readme\.md$/i.test(name))
    .map((name) => name.slice(0, -'.md'.length));
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

/** Undefined when the file went away after its directory was listed. */
function look(
  { id, path, from }: Place,
  before: Known | undefined,
  parse: ParseYaml,
  { own, within = own }: RoleDirectories
): Known | undefined {
  try {
    if (!lstatSync(path, { throwIfNoEntry: false })) return undefined;
    const mark = markOf(path);
    if (mark !== undefined && mark === before?.mark) return before;
    if (from === 'workspace' && leadsOut(within, path))
      throw new Error('it is a link that leads outside the workspace');
    const text = readRegular(path).toString('utf8');
    const judged = text === before?.text ? before : judge(id, text, parse);
    return { ...judged, mark, text };
  } catch (error) {
    const code = errnoOf(error);
    const problem = code ? `it cannot be read (${code})` : messageOf(error);
    return { mark: undefined, text: undefined, problem };
  }
}

function judge(id: string, text: string, parse: ParseYaml): Judged {
  try {
    return { role: parseRole(id, text, parse) };
  } catch (error) {
    // YAML's errors have a drawing of the place below.
    const [first = ''] = messageOf(error).split('\n');
    const problem = first
      .replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ')
      .slice(0, longestProblem)
      .replace(/[.:\s]+$/, '');
    return { problem };
  }
}

/** @throws Error for what is no file that a role may lie in */
function markOf(path: string): string | undefined {
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
