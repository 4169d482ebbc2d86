import { realpathSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { HostError, limitError } from '../../errors.ts';
import { isInside } from '../../paths/troupe-home.ts';
import { shortName } from '../../text.ts';

/**
 * The real path of a directory inside the workspace. Symbolic links are
 * resolved first, including the ones in the path of the workspace.
 * @throws HostError `cwd_missing` or `cwd_outside`
 */
export function resolveDirectory(
  workspace: string,
  requested: string | undefined
): string {
  const root = rootOf(workspace);
  if (requested === undefined || requested === '') return root;
  const path = resolve(root, requested);
  const real = realPathOf(path);
  if (!isInside(root, real ?? nearestRealParent(path)))
    throw outside(requested);
  if (real === undefined) throw missing(requested, 'There is no directory');
  if (!statSync(real).isDirectory())
    throw missing(requested, 'Not a directory:');
  return real;
}

function realPathOf(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}

/** The real path of the nearest existing parent directory. */
function nearestRealParent(path: string): string {
  const above = dirname(path);
  return above === path
    ? path
    : (realPathOf(above) ?? nearestRealParent(above));
}

/**
 * Checks a run's directory again right before its program starts, because the
 * run may have been queued for a long time.
 * @throws Error when the directory is gone or leads out of the workspace
 */
export function checkStillInside(workspace: string, directory: string): void {
  const real = realPathOf(directory);
  // Without this check, the system would report a missing program.
  if (real === undefined) throw new Error(`${directory} is gone`);
  if (isInside(realpathSync(workspace), real)) return;
  throw new Error(`${directory} now leads out of the workspace`);
}

/** The real path of a file inside the workspace; undefined for other paths. */
export function resolveInside(
  workspace: string,
  requested: string
): string | undefined {
  const root = rootOf(workspace);
  const real = realPathOf(resolve(root, requested));
  return real !== undefined && isInside(root, real) ? real : undefined;
}

/** True for an existing path whose real path lies outside a root. */
export function leadsOut(root: string, path: string): boolean {
  const real = realPathOf(path);
  return real !== undefined && !isInside(realPathOf(root) ?? root, real);
}

/** @throws HostError `cwd_missing` when the workspace was moved away */
function rootOf(workspace: string): string {
  try {
    return realpathSync(workspace);
  } catch (error) {
    if (limitError(error)) throw error;
    throw new HostError(
      'cwd_missing',
      `The workspace ${workspace} no longer exists.`,
      'Put it back, or start the server again where it is now; nothing was started.'
    );
  }
}

function outside(requested: string): HostError {
  return new HostError(
    'cwd_outside',
    `The cwd "${shortName(requested)}" lies outside the workspace.`,
    'Give a directory inside the workspace, relative to its root; links out of it do not count.'
  );
}

function missing(requested: string, problem: string): HostError {
  return new HostError(
    'cwd_missing',
    `${problem} "${shortName(requested)}" in the workspace.`,
    'Create it first, or leave cwd out to work in the workspace root.'
  );
}
