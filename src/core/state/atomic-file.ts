import { randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fdatasyncSync,
  linkSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  writeSync
} from 'node:fs';
import { dirname, join } from 'node:path';
import { errnoOf } from '../errors.ts';

/** Writes every byte or throws; ENOSPC shows as a short count first. */
function writeAll(descriptor: number, data: Buffer | string): void {
  const bytes = typeof data === 'string' ? Buffer.from(data) : data;
  let offset = 0;
  while (offset < bytes.length) offset += writeSync(descriptor, bytes, offset);
}

/** A new file, 0600, never through a link. `durable` waits for the disk. */
export function writeNew(path: string, data: Buffer | string, durable = false) {
  const descriptor = openSync(path, 'wx', 0o600);
  try {
    writeAll(descriptor, data);
    if (durable) fdatasyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Replaces a file whole: a reader sees the old or the new, never a part.
 * `durable` returns when a power cut does not take it back.
 */
export function replaceFile(
  path: string,
  data: Buffer | string,
  durable = false
): void {
  const temporary = temporaryName(path);
  try {
    writeNew(temporary, data, durable);
    renameSync(temporary, path);
  } catch (error) {
    remove(temporary);
    throw error;
  }
  if (!durable) return;
  try {
    syncDirectory(dirname(path));
  } catch {
    // It is in its place: to say that it failed would be wrong.
  }
}

/**
 * Creates a file whole, once: false when it is there already, whoever wrote
 * it. Of any number of processes exactly one gets true.
 */
export function createOnce(path: string, data: Buffer | string): boolean {
  const temporary = temporaryName(path);
  try {
    writeNew(temporary, data, true);
    linkSync(temporary, path);
    return true;
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return false;
    throw error;
  } finally {
    remove(temporary);
  }
}

/** Makes a rename or a new name in a directory survive a power cut. */
export function syncDirectory(path: string): void {
  if (process.platform === 'win32') return;
  const descriptor = openSync(path, 'r');
  try {
    fdatasyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Removes a file; no error when it is gone already. */
export function remove(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error;
  }
}

/** The file's text, or undefined when there is none. */
export function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR')
      return undefined;
    throw error;
  }
}

export function temporaryName(path: string): string {
  return `${path}.${process.pid}.${randomBytes(6).toString('hex')}.tmp`;
}

const temporary = /\.\d+\.[0-9a-f]{12}\.tmp$/;
/** Nobody is still writing what is older. */
const temporaryMs = 60_000;

/** A name that `replaceFile` and `createOnce` write to first. */
export function isTemporary(name: string): boolean {
  return temporary.test(name);
}

/** Removes what killed processes left half-written in a directory. */
export function removeLeftovers(directory: string, now = Date.now()): void {
  if (!existsSync(directory)) return;
  for (const name of readdirSync(directory)) {
    if (!isTemporary(name)) continue;
    const path = join(directory, name);
    const file = statSync(path, { throwIfNoEntry: false });
    if (file && now - file.mtimeMs > temporaryMs)
      rmSync(path, { recursive: true, force: true });
  }
}
