import { relative } from 'node:path';
import {
  loadYaml,
  type ParseYaml,
  parseRole
} from '../core/squads/role-file.ts';
import {
  checkDirectory,
  idsIn,
  markOf,
  type Place,
  placeOf,
  type RoleDirectories
} from '../core/squads/role-places.ts';
import { whyWide } from '../core/squads/role-repository.ts';
import { readIfThere } from '../core/state/atomic-file.ts';
import { type Digests, digestOf } from '../core/state/digests.ts';
import { plainName, type Widening } from './asked.ts';

/** A role file, with the text that it is judged by. */
export interface RoleWidening extends Widening {
  digests: Digests;
}

/**
 * Roles of the workspace that take the place of a built-in one or ask for full
 * access. Without roles of its own this is one look at a directory.
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
    const place = placeOf(id, directories, builtIn.has(id));
    const text = textOf(place.path);
    const isWide = place.replacesBuiltIn || (await asksForAll(id, text));
    if (isWide) found.push(wideningOf(place, text, workspace));
  }
  return found;
}

/** A directory that cannot be read is refused where its roles are needed. */
function readableIds(directories: RoleDirectories): string[] {
  try {
    checkDirectory(directories);
    return idsIn(directories.own);
  } catch {
    return [];
  }
}

function wideningOf(
  place: Place,
  text: string,
  workspace: string
): RoleWidening {
  const name = relative(workspace, place.path);
  return {
    setting: plainName(name),
    allows: whyWide(place),
    files: [],
    digests: { [place.path]: digestOf(text) }
  };
}

/** Empty for what is no role: that is not used either. */
function textOf(path: string): string {
  try {
    markOf(path);
    return readIfThere(path) ?? '';
  } catch {
    return '';
  }
}

/** The head of a role is at the beginning. */
const headChars = 25_000;
let parse: ParseYaml | undefined;

async function asksForAll(id: string, text: string): Promise<boolean> {
  // The word, or an escape that may stand for it: then its parser decides.
  if (!/full|\\/.test(text.slice(0, headChars))) return false;
  parse ??= await loadYaml();
  try {
    return parseRole(id, text, parse).access === 'full';
  } catch {
    // It cannot be used.
    return false;
  }
}
