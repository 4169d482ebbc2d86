import { existsSync, realpathSync } from 'node:fs';
import { userInfo } from 'node:os';
import {
  basename,
  dirname,
  isAbsolute,
  join,
  relative,
  resolve,
  sep
} from 'node:path';
import { HostError } from '../errors.ts';

/** Selects the directory of all records and of the user's trust decisions. */
export const homeVariable = 'TROUPE_HOME';

type Environment = Record<string, string | undefined>;

/**
 * The user's own directory: `TROUPE_HOME`, else `.troupe` in the home
 * directory. `XDG_*` variables are ignored: they differ between clients, and a
 * workspace must have a single record.
 */
export function troupeHome(environment: Environment = process.env): string {
  const named = environment[homeVariable];
  if (named) return realPathOf(resolve(named));
  const home = environment.HOME || userInfo().homedir;
  return realPathOf(join(resolve(home), '.troupe'));
}

/**
 * Refuses a `TROUPE_HOME` in the workspace: a clone could contain a forged
 * record, and agents could change the record. The default is allowed even when
 * the home directory is the workspace.
 * @throws HostError `config_invalid` when `TROUPE_HOME` lies in the workspace
 */
export function checkHomeOutside(
  workspace: string,
  home: string,
  environment: Environment = process.env
): void {
  if (!environment[homeVariable] || !isInside(workspace, home)) return;
  throw new HostError(
    'config_invalid',
    `${homeVariable} is ${home}, inside the workspace ${workspace}.`,
    `Set ${homeVariable} to a directory outside the workspace, or unset it to use ~/.troupe.`
  );
}

/** True for the directory itself and for every path below it. */
export function isInside(directory: string, path: string): boolean {
  const between = relative(directory, path);
  return !(
    between === '..' ||
    between.startsWith(`..${sep}`) ||
    isAbsolute(between)
  );
}

/** Resolves links in the existing part of a path. */
export function realPathOf(path: string): string {
  if (existsSync(path)) return realpathSync(path);
  const above = dirname(path);
  return above === path ? path : join(realPathOf(above), basename(path));
}
