import { lstatSync } from 'node:fs';
import { errnoOf, messageOf } from '../errors.ts';
import { leadsOut } from '../runs/containment.ts';
import { readRegular } from '../state/regular-file.ts';
import { loadYaml, type ParseYaml, parseRole, type Role } from './role-file.ts';
import {
  builtInOf,
  markOf,
  type Place,
  placesIn,
  type RoleDirectories
} from './role-places.ts';

export interface LocatedRole extends Role, Place {}

/** A role file that cannot be used. */
export interface RoleFault extends Place {
  problem: string;
}

/** All by id. */
export interface RoleList {
  roles: LocatedRole[];
  faults: RoleFault[];
  /** Left out until the workspace is trusted. */
  untrusted: RoleFault[];
}

/** Whether the user trusts a role file with this text. */
export type TrustsRole = (path: string, text: string) => boolean;

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
  readonly #trusts: TrustsRole;
  #parse: ParseYaml | undefined;
  #known = new Map<string, Known>();

  /**
   * @param onFault called once for every broken state of a file
   * @param trusts asked for roles of the workspace that take the place of a
   *   built-in one, or ask for full access
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
    // Nothing waits from here on: of calls side by side, one tells a fault.
    const known = new Map<string, Known>();
    const list: RoleList = { roles: [], faults: [], untrusted: [] };
    const lookAt = (place: Place) => {
      const now = look(
        place,
        this.#known.get(place.path),
        parse,
        this.directories
      );
      if (now) known.set(place.path, now);
      return now;
    };
    for (const found of placesIn(this.directories)) {
      const first = lookAt(found);
      const isRefused = first !== undefined && !this.#mayUse(found, first);
      if (isRefused) list.untrusted.push({ ...found, problem: notTrusted });
      const place = isRefused ? builtInOf(found, this.directories) : found;
      const now = isRefused ? place && lookAt(place) : first;
      if (!place || !now) continue;
      const before = this.#known.get(place.path);
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

  #mayUse({ from, path, replacesBuiltIn }: Place, { role, text }: Known) {
    if (from === 'built-in') return true;
    const isWide = replacesBuiltIn || role?.access === 'full';
    return !isWide || this.#trusts(path, text ?? '');
  }
}

const notTrusted = 'it is left out until the user runs "troupe trust"';

/** Why a role is left out of an untrusted workspace. */
export function whyWide({ replacesBuiltIn, id }: Place): string {
  return replacesBuiltIn
    ? `takes the place of the built-in role ${id}`
    : 'asks for full access';
}

/** What the user is told of a file that cannot be used. */
export function describeFault(fault: RoleFault): string {
  const { id, path, problem, replacesBuiltIn } = fault;
  const facts = `The role ${path} cannot be used: ${problem}.`;
  return replacesBuiltIn
    ? `${facts} The built-in role "${id}" does not take its place.`
    : facts;
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
