import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { errnoOf } from '../errors.ts';

/**
 * Makes a directory of ours, and those above it. What we create is 0700 and
 * the topmost of it ignores itself in git; what was there stays as it was.
 */
export function ensureDirectory(path: string): void {
  const missing: string[] = [];
  let current = path;
  while (!isDirectory(current)) {
    missing.unshift(current);
    current = dirname(current);
  }
  for (const [index, directory] of missing.entries()) {
    if (!createOne(directory) || index > 0) continue;
    writeFileSync(join(directory, '.gitignore'), '*\n', { mode: 0o600 });
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
