import { realpathSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { HostError, limitError } from '../errors.ts';
import { isInside } from '../paths/troupe-home.ts';
import { shortName } from './parts.ts';

/**
 * An absolute, real directory inside the workspace. Only where a path leads
 * counts: a caller may spell the workspace by a link that leads to it.
 * @throws HostError `cwd_missing` or `cwd_outside`, symlinks resolved.
 */
export function resolveDirectory(
  workspace: string,
  asked: string | undefined
): string {
  const root = rootOf(workspace);
  if (asked === undefined || asked === '') return root;
  const path = resolve(root, asked);
  const real = realPathOf(path);
  if (!isInside(root, real ?? whereItWouldBe(path))) throw outside(asked);
  if (real === undefined) throw missing(asked, 'There is no directory');
  if (!statSync(real).isDirectory()) throw missing(asked, 'Not a directory:');
  return real;
}

function realPathOf(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}

/** The real path of the nearest directory above that is there. */
function whereItWouldBe(path: string): string {
  const above = dirname(path);
  return above === path ? path : (realPathOf(above) ?? whereItWouldBe(above));
}

/**
 * Once more, when a program is about to start in a directory that was found
 * right when it was asked for: it may have waited for long.
 * @throws Error when it is gone, or has become a link out of the workspace
 */
export function checkStillInside(workspace: string, directory: string): void {
  let real: string;
  try {
    real = realpathSync(directory);
  } catch {
    // Else the system would say that the program is missing.
    throw new Error(`${directory} is gone`);
  }
  if (isInside(realpathSync(workspace), real)) return;
  throw new Error(`${directory} leads out of the workspace by now`);
}

/** The real path of what is inside the workspace, links resolved. */
export function resolveInside(
  workspace: string,
  asked: string
): string | undefined {
  const root = rootOf(workspace);
  try {
    const real = realpathSync(resolve(root, asked));
    return isInside(root, real) ? real : undefined;
  } catch {
    return undefined;
  }
}

/** True for a path that exists and, links resolved, lies outside a root. */
export function leadsOut(root: string, path: string): boolean {
  const real = realPathOf(path);
  return real !== undefined && !isInside(realPathOf(root) ?? root, real);
}

/** It may have been moved away under a server at work. */
function rootOf(workspace: string): string {
  try {
    return realpathSync(workspace);
  } catch (error) {
    if (limitError(error)) throw error;
    throw new HostError(
      'cwd_missing',
      `The workspace ${workspace} is not there any more.`,
      'Put it back, or start the server again where it is now; nothing was started.'
    );
  }
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
