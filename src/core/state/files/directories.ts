import {
  lstatSync,
  mkdirSync,
  readdirSync,
  type Stats,
  statSync
} from 'node:fs';
import { dirname, join } from 'node:path';
import { errnoOf } from '../../errors.ts';
import { writeNew } from './atomic-file.ts';
import { symbolicLinkError } from './own-file.ts';

/**
 * Creates a state directory and its parents. New directories have mode 0700,
 * and the topmost new one gets a `.gitignore` that ignores it. Existing
 * directories are unchanged.
 * @throws HostError `state_unsafe` when the path is a symbolic link
 */
export function ensureDirectory(path: string): void {
  const stats = lstatIfExists(path);
  if (stats?.isDirectory()) return;
  if (stats?.isSymbolicLink()) throw symbolicLinkError(path);
  const missing: string[] = [];
  let current = path;
  while (!isDirectory(current)) {
    missing.unshift(current);
    current = dirname(current);
  }
  for (const [index, directory] of missing.entries())
    if (createOne(directory) && index === 0) ignore(directory);
}

/** The names in a directory; empty when it does not exist. */
export function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(errnoOf(error) ?? '')) return [];
    throw error;
  }
}

/** Whether a path is a directory and not a symbolic link. */
export function isRealDirectory(path: string): boolean {
  return lstatIfExists(path)?.isDirectory() ?? false;
}

/** Whether a path is a directory of this user and not a symbolic link. */
export function isOwnDirectory(path: string): boolean {
  const file = lstatSync(path, { throwIfNoEntry: false });
  const own = process.getuid?.();
  return (
    file?.isDirectory() === true && (own === undefined || file.uid === own)
  );
}

/**
 * The result of `lstat`; undefined when the path does not exist or cannot be
 * accessed.
 */
export function lstatIfExists(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/**
 * The size of all files below a directory in bytes. Links are not followed and
 * do not count. A missing or unreadable directory counts as empty.
 */
export function bytesBelow(directory: string): number {
  let names: string[] = [];
  try {
    names = readdirSync(directory);
  } catch {
    return 0;
  }
  let bytes = 0;
  for (const name of names) {
    const path = join(directory, name);
    const file = lstatSync(path, { throwIfNoEntry: false });
    if (file?.isDirectory()) bytes += bytesBelow(path);
    else if (file?.isFile()) bytes += file.size;
  }
  return bytes;
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** False when another process has created the directory first. */
function createOne(path: string): boolean {
  try {
    mkdirSync(path, { mode: 0o700 });
    return true;
  } catch (error) {
    if (errnoOf(error) === 'EEXIST' && isDirectory(path)) return false;
    throw error;
  }
}

function ignore(directory: string): void {
  try {
    writeNew(join(directory, '.gitignore'), '*\n');
  } catch (error) {
    // Another process has created the file in the meantime.
    if (errnoOf(error) !== 'EEXIST') throw error;
  }
}
