import {
  closeSync,
  existsSync,
  fdatasyncSync,
  fstatSync,
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
import { isRunning } from './is-running.ts';
import { readFlags } from './regular-file.ts';

/** Writes every byte or throws; ENOSPC shows as a short count first. */
export function writeAll(descriptor: number, data: Buffer | string): void {
  const bytes = typeof data === 'string' ? Buffer.from(data) : data;
  let offset = 0;
  while (offset < bytes.length) offset += writeSync(descriptor, bytes, offset);
}

/**
 * A new file, 0600, never through a link. `durable` waits for the disk.
 * @param finish what else is done to the open file when all is written
 */
export function writeNew(
  path: string,
  data: Buffer | string,
  durable = false,
  finish?: (descriptor: number) => void
): void {
  const descriptor = openSync(path, 'wx', 0o600);
  try {
    writeAll(descriptor, data);
    finish?.(descriptor);
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
  putInPlace(path, data, durable);
  if (durable) settleIn(dirname(path));
}

/**
 * The same; with `durable` a power cut leaves the old or the new, and only
 * the new after `settleIn`, which may come later.
 * @param finish as of `writeNew`, before the file has its name
 */
export function putInPlace(
  path: string,
  data: Buffer | string,
  durable: boolean,
  finish?: (descriptor: number) => void
): void {
  const temporary = temporaryName(path);
  try {
    writeNew(temporary, data, durable, finish);
    renameSync(temporary, path);
  } catch (error) {
    discard(temporary);
    throw error;
  }
}

/** Returns when what was put into a directory stays there. */
export function settleIn(directory: string): void {
  try {
    syncDirectory(directory);
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
    discard(temporary);
  }
}

/** What fails here would hide what failed before. */
function discard(temporary: string): void {
  try {
    remove(temporary);
  } catch {
    // `removeLeftovers` takes it.
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

/**
 * The file's text, or undefined when there is none.
 * @throws Error for what is no file: of a device, reading might never end
 */
export function readIfThere(path: string): string | undefined {
  return bytesIfThere(path)?.toString('utf8');
}

/** The same, as bytes. */
export function bytesIfThere(path: string): Buffer | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(path, readFlags);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR')
      return undefined;
    throw error;
  }
  try {
    const stats = fstatSync(descriptor);
    if (!stats.isFile() && !stats.isDirectory())
      throw new Error(`${path} is no file`);
    return readFileSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Random hex digits for names that need not be secret, as they are created
 * exclusively: loading node:crypto would cost each start 1 to 2 MB.
 */
export function hexDigits(count: number): string {
  return Array.from({ length: count }, () =>
    Math.floor(Math.random() * 16).toString(16)
  ).join('');
}

export function temporaryName(path: string): string {
  return `${path}.${process.pid}.${hexDigits(12)}.tmp`;
}

const temporary = /\.(\d+)\.[0-9a-f]{12}\.tmp$/;
/** What is older was left by somebody, unless he lives: clocks jump. */
const temporaryMs = 60_000;
/** What is older is nobody's: his number is another process's by now. */
const longestMs = 86_400_000;

/** A name that `replaceFile` and `createOnce` write to first. */
export function isTemporary(name: string): boolean {
  return temporary.test(name);
}

/** Removes what killed processes left half-written in a directory. */
export function removeLeftovers(directory: string, now = Date.now()): void {
  for (const path of leftoversIn(directory, now))
    rmSync(path, { recursive: true, force: true });
}

export function leftoversIn(directory: string, now = Date.now()): string[] {
  if (!existsSync(directory)) return [];
  return readdirSync(directory).flatMap((name) => {
    const [, pid] = temporary.exec(name) ?? [];
    if (pid === undefined) return [];
    const path = join(directory, name);
    const file = statSync(path, { throwIfNoEntry: false });
    if (!file) return [];
    const limit = isRunning(Number(pid)) ? longestMs : temporaryMs;
    return now - file.mtimeMs > limit ? [path] : [];
  });
}
