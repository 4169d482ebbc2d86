import { lstatSync } from 'node:fs';
import { errnoOf, messageOf } from '../errors.ts';
import { leadsOut } from '../runs/admission/containment.ts';
import { readRegular } from '../state/files/regular-file.ts';
import {
  builtInOf,
  directoryProblem,
  fileMark,
  loadYaml,
  locationsIn,
  type ParseYaml,
  parseRole,
  type Role,
  type RoleDirectories,
  type RoleLocation
} from './role-file.ts';

export interface LocatedRole extends Role, RoleLocation {}

/** A role file that cannot be used; with an empty id, the whole directory. */
export interface RoleFault extends RoleLocation {
  problem: string;
}

/** Sorted by id. */
export interface RoleList {
  roles: LocatedRole[];
  faults: RoleFault[];
  /** Left out until the workspace is trusted. */
  untrusted: RoleFault[];
}

/** Whether the user trusts a role file with this text. */
export type TrustsRole = (path: string, text: string) => boolean;

interface Parsed {
  role?: Role;
  problem?: string;
}

/** A file as it was last read. */
interface Known extends Parsed {
  /** Changes with the file; if undefined, the file has to be read again. */
  mark: string | undefined;
  /** Undefined if it could not be read. */
  text: string | undefined;
}

/** In characters; YAML errors may quote the file. */
const longestProblem = 300;

/**
 * The available roles. A file is read again when it has changed. A broken file
 * hides no other role, except for the built-in role that it overrides.
 */
export class RoleRepository {
  readonly directories: RoleDirectories;
  readonly #onFault: (fault: RoleFault) => void;
  readonly #trusts: TrustsRole;
  #parse: ParseYaml | undefined;
  #known = new Map<string, Known>();
  #directoryProblem: string | undefined;

  /**
   * @param onFault called once for every broken state of a file
   * @param trusts called for roles of the workspace that override a built-in
   *   one or request full access
   */
  constructor(
    directories: RoleDirectories,
    onFault: (fault: RoleFault) => void,
    trusts: TrustsRole = () => true
  ) {
    this.directories = directories;
    this.#onFault = onFault;
    this.#trusts = trusts;
  }

  /** @throws HostError `config_invalid` for a directory that cannot be read */
  async all(): Promise<RoleList> {
    this.#parse ??= await loadYaml();
    const parse = this.#parse;
    // No await from here on, so that concurrent calls report a fault once.
    const known = new Map<string, Known>();
    const list: RoleList = { roles: [], faults: [], untrusted: [] };
    const refresh = (location: RoleLocation) => {
      const before = this.#known.get(location.path);
      const now = readRole(location, before, parse, this.directories);
      if (now) known.set(location.path, now);
      return now;
    };
    for (const found of locationsIn(this.directories)) {
      let location: RoleLocation | undefined = found;
      let now = refresh(found);
      if (now && !this.#mayUse(found, now)) {
        list.untrusted.push({ ...found, problem: notTrusted });
        location = builtInOf(found, this.directories);
        now = location && refresh(location);
      }
      if (!location || !now) continue;
      const before = this.#known.get(location.path);
      const { role, problem, text } = now;
      if (role) list.roles.push({ ...role, ...location });
      if (problem === undefined) continue;
      const fault = { ...location, problem };
      list.faults.push(fault);
      if (before?.problem !== problem || before.text !== text)
        this.#onFault(fault);
    }
    this.#known = known;
    list.faults.push(...this.#directoryFaults());
    return list;
  }

  #directoryFaults(): RoleFault[] {
    const path = this.directories.own;
    const problem = directoryProblem(path);
    const isNew = problem !== this.#directoryProblem;
    this.#directoryProblem = problem;
    if (problem === undefined) return [];
    const location = { id: '', path, from: 'workspace' as const };
    const fault = { ...location, replacesBuiltIn: false, problem };
    if (isNew) this.#onFault(fault);
    return [fault];
  }

  #mayUse({ from, path, replacesBuiltIn }: RoleLocation, known: Known) {
    const { role, text } = known;
    if (from === 'built-in') return true;
    const isWide = replacesBuiltIn || role?.access === 'full';
    return !isWide || this.#trusts(path, text ?? '');
  }
}

const notTrusted = 'it is left out until the user runs "troupe trust"';

/** Why a role is left out of an untrusted workspace. */
export function whyWide({ replacesBuiltIn, id }: RoleLocation): string {
  return replacesBuiltIn
    ? `takes the place of the built-in role ${id}`
    : 'asks for full access';
}

/** The message to the user about a file that cannot be used. */
export function describeFault(fault: RoleFault): string {
  const { id, path, problem, replacesBuiltIn } = fault;
  if (id === '')
    return `There are no roles in ${path}: ${problem}. The built-in roles are used.`;
  const facts = `The role ${path} cannot be used: ${problem}.`;
  return replacesBuiltIn
    ? `${facts} The built-in role "${id}" does not take its place.`
    : facts;
}

/** Undefined if the file was removed after its directory was listed. */
function readRole(
  { id, path, from }: RoleLocation,
  before: Known | undefined,
  parse: ParseYaml,
  { own, within = own }: RoleDirectories
): Known | undefined {
  try {
    if (!lstatSync(path, { throwIfNoEntry: false })) return undefined;
    const mark = fileMark(path);
    if (mark !== undefined && mark === before?.mark) return before;
    if (from === 'workspace' && leadsOut(within, path))
      throw new Error('it is a link that leads outside the workspace');
    const text = readRegular(path).toString('utf8');
    const parsed = text === before?.text ? before : parsedRole(id, text, parse);
    return { ...parsed, mark, text };
  } catch (error) {
    const code = errnoOf(error);
    const problem = code ? `it cannot be read (${code})` : messageOf(error);
    return { mark: undefined, text: undefined, problem };
  }
}

function parsedRole(id: string, text: string, parse: ParseYaml): Parsed {
  try {
    return { role: parseRole(id, text, parse) };
  } catch (error) {
    // The other lines of a YAML error show the text around it.
    const [first = ''] = messageOf(error).split('\n');
    const problem = first
      .replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ')
      .slice(0, longestProblem)
      .replace(/[.:\s]+$/, '');
    return { problem };
  }
}
