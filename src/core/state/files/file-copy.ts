import {
  closeSync,
  constants,
  copyFileSync,
  renameSync,
  rmSync,
  statSync
} from 'node:fs';
import { temporaryName, writeAll } from './atomic-file.ts';
import { lstatIfExists } from './directories.ts';
import { openToAppend } from './own-file.ts';
import { readPart } from './regular-file.ts';

/** The last bytes of a copy that are compared before data is appended. */
const comparedBytes = 4096;
/** If more bytes are missing, the whole file is copied. */
const maximumAppendBytes = 1024 * 1024;

/** Whether a copy exists and has the same size as the original. */
export function isCopied(original: string, copy: string): boolean {
  const stats = lstatIfExists(copy);
  return (
    stats?.isFile() === true &&
    stats.size === statSync(original, { throwIfNoEntry: false })?.size
  );
}

/**
 * Updates the copy of an append-only file. Missing bytes are appended, so that
 * programs that tail the copy are not disturbed. A copy that is not a prefix of
 * the original is replaced. The caller ensures that only one process updates.
 * @throws the system's error
 */
export function updateCopy(original: string, copy: string): void {
  if (isCopied(original, copy)) return;
  if (!appendMissing(original, copy)) copyWhole(original, copy);
}

/** Replaces a copy atomically; a link at its path is not followed. */
export function copyWhole(original: string, copy: string): void {
  const temporary = temporaryName(copy);
  try {
    copyFileSync(original, temporary, constants.COPYFILE_EXCL);
    renameSync(temporary, copy);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

/** False when the copy has to be replaced. */
function appendMissing(original: string, copy: string): boolean {
  const stats = lstatIfExists(copy);
  // A file with a hard link is replaced: a write would change both names.
  if (!stats?.isFile() || stats.nlink > 1) return false;
  const { size } = statSync(original);
  const missing = size - stats.size;
  if (missing < 0 || missing > maximumAppendBytes) return false;
  const start = Math.max(0, stats.size - comparedBytes);
  const length = stats.size - start;
  const end = readPart(copy, start, length);
  if (!readPart(original, start, length).equals(end)) return false;
  const descriptor = openToAppend(copy);
  try {
    writeAll(descriptor, readPart(original, stats.size, missing));
  } finally {
    closeSync(descriptor);
  }
  return true;
}
