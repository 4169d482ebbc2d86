import { relative } from 'node:path';
import {
  checkDirectory,
  fileMark,
  idsIn,
  loadYaml,
  locationOf,
  type ParseYaml,
  parseRole,
  type RoleDirectories,
  type RoleLocation
} from '../core/squads/role-file.ts';
import { whyWide } from '../core/squads/role-repository.ts';
import { readIfExists } from '../core/state/files/atomic-file.ts';
import { type Digests, digestOf } from '../core/state/integrity/digests.ts';
import { plainName, type Widening } from './widening.ts';

/** A role file, with the digest of its text. */
interface RoleWidening extends Widening {
  digests: Digests;
}

/**
 * Roles of the workspace that override a built-in role or request full access.
 * For a workspace without roles, it only lists a directory.
 */
export async function roleWidenings(
  workspace: string,
  directories: RoleDirectories
): Promise<RoleWidening[]> {
  const { builtin, own } = directories;
  const ids = builtin === own ? [] : readableIds(directories);
  if (ids.length === 0) return [];
  const builtIn = new Set(idsIn(builtin));
  const found: RoleWidening[] = [];
  for (const id of ids) {
    const location = locationOf(id, directories, builtIn.has(id));
    const text = textOf(location.path);
    const isWide = location.replacesBuiltIn || (await asksForAll(id, text));
    if (isWide) found.push(wideningOf(location, text, workspace));
  }
  return found;
}

/** An unreadable directory is reported where its roles are needed. */
function readableIds(directories: RoleDirectories): string[] {
  try {
    checkDirectory(directories);
    return idsIn(directories.own);
  } catch {
    return [];
  }
}

function wideningOf(
  location: RoleLocation,
  text: string,
  workspace: string
): RoleWidening {
  const name = relative(workspace, location.path);
  return {
    setting: plainName(name),
    allows: whyWide(location),
    files: [],
    digests: { [location.path]: digestOf(text) }
  };
}

/** Empty for an invalid role, which is never used. */
function textOf(path: string): string {
  try {
    fileMark(path);
    return readIfExists(path) ?? '';
  } catch {
    return '';
  }
}

/** Enough for the front matter of a role. */
const headChars = 25_000;
let parse: ParseYaml | undefined;

async function asksForAll(id: string, text: string): Promise<boolean> {
  // Only a text with the word or an escape sequence needs the parser.
  if (!/full|\\/.test(text.slice(0, headChars))) return false;
  parse ??= await loadYaml();
  try {
    return parseRole(id, text, parse).access === 'full';
  } catch {
    // An invalid role is never used.
    return false;
  }
}
