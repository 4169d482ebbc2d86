import { realpathSync, statSync } from 'node:fs';
import { isAbsolute, relative, resolve, sep } from 'node:path';
import { HostError } from '../errors.ts';
import { shortName } from './parts.ts';

/**
 * An absolute, real directory inside the workspace.
 * @throws HostError `cwd_missing` or `cwd_outside`, symlinks resolved.
 */
export function resolveDirectory(
  workspace: string,
  asked: string | undefined
): string {
  const root = realpathSync(workspace);
  if (asked === undefined || asked === '') return root;
  const path = resolve(root, asked);
  if (!isInside(root, path) && !isInside(resolve(workspace), path))
    throw outside(asked);
  let real: string;
  try {
    real = realpathSync(path);
  } catch {
    throw missing(asked, 'There is no directory');
  }
  if (!isInside(root, real)) throw outside(asked);
  if (!statSync(real).isDirectory()) throw missing(asked, 'Not a directory:');
  return real;
}

/** The real path of what is inside the workspace, links resolved. */
export function resolveInside(
  workspace: string,
  asked: string
): string | undefined {
  const root = realpathSync(workspace);
  try {
    const real = realpathSync(resolve(root, asked));
    return isInside(root, real) ? real : undefined;
  } catch {
    return undefined;
  }
}

/** By name alone: a path is inside of itself, too. */
export function isInside(root: string, path: string): boolean {
  const between = relative(root, path);
  return (
    between !== '..' && !between.startsWith(`..${sep}`) && !isAbsolute(between)
  );
}

function outside(asked: string): HostError {
  return new HostError(
    'cwd_outside',
    `The cwd "${shortName(asked)}" lies outside the workspace.`,
    'Give a directory inside the workspace, relative to its root; links out of it do not count.'
  );
}

function missing(asked: string, problem: string): HostError {
  return new HostError(
    'cwd_missing',
    `${problem} "${shortName(asked)}" in the workspace.`,
    'Create it first, or leave cwd out to work in the workspace root.'
  );
}
