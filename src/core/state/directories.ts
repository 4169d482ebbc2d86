import {
  lstatSync,
  mkdirSync,
  readdirSync,
  type Stats,
  statSync
} from 'node:fs';
import { dirname, join } from 'node:path';
import { errnoOf } from '../errors.ts';
import { writeNew } from './atomic-file.ts';
import { leadsElsewhere } from './unsafe.ts';

/**
 * Makes a directory of ours, and those above it. What we create is 0700 and
 * the topmost of it ignores itself in git; what was there stays as it was.
 * @throws HostError `state_unsafe` when it is a link: nothing is put through
 */
export function ensureDirectory(path: string): void {
  const there = lookAt(path);
  if (there?.isDirectory()) return;
  if (there?.isSymbolicLink()) throw leadsElsewhere(path);
  const missing: string[] = [];
  let current = path;
  while (!isDirectory(current)) {
    missing.unshift(current);
    current = dirname(current);
  }
  for (const [index, directory] of missing.entries()) {
    if (!createOne(directory) || index > 0) continue;
    ignore(directory);
  }
}

/** Names in a directory of ours; none when it is not there. */
export function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(errnoOf(error) ?? '')) return [];
    throw error;
  }
}

/** A directory of ours, which is no link to another one. */
export function isRealDirectory(path: string): boolean {
  return lookAt(path)?.isDirectory() ?? false;
}

export function isLink(path: string): boolean {
  return lookAt(path)?.isSymbolicLink() ?? false;
}

/**
 * What is there, links as such; undefined where there is nothing, and where we
 * may not even look.
 */
export function lookAt(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** False when another process was faster. */
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
    // Somebody has put one there since.
    if (errnoOf(error) !== 'EEXIST') throw error;
  }
}
