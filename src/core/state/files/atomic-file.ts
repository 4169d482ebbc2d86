import {
  closeSync,
  existsSync,
  fchmodSync,
  fchownSync,
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
import { open, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errnoOf } from '../../errors.ts';
import { isRunning } from '../../processes/is-running.ts';
import { NotRegular, readFlags } from './regular-file.ts';

/** Writes every byte or throws: on a full disk a single write may be short. */
export function writeAll(descriptor: number, data: Buffer | string): void {
  const bytes = typeof data === 'string' ? Buffer.from(data) : data;
  let offset = 0;
  while (offset < bytes.length) offset += writeSync(descriptor, bytes, offset);
}

/**
 * Creates a file with mode 0600. Throws EEXIST if the path exists, even as a
 * symbolic link.
 * @param durable whether to wait until the data is on the disk
 * @param finish called with the open file after the data is written
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
 * Replaces a file atomically: a reader sees either the old or the new content.
 * With `durable`, the replacement survives a power failure.
 */
export function replaceFile(
  path: string,
  data: Buffer | string,
  durable = false
): void {
  replaceWithoutSync(path, data, durable);
  if (durable) trySyncDirectory(dirname(path));
}

/**
 * Like `replaceFile`, without the sync of the directory. With `durable`, a
 * power failure leaves the old or the new file, and after `trySyncDirectory`
 * the new one.
 * @param finish as in `writeNew`, called before the rename
 */
export function replaceWithoutSync(
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

/** Like `syncNow`, but ignores errors. */
export function trySyncDirectory(directory: string): void {
  try {
    syncNow(directory);
  } catch {
    // The file has its name, so the caller must not get an error.
  }
}

/**
 * Creates a file atomically. Of several concurrent processes exactly one gets
 * true; false means that the file exists. With `durable`, a file for which it
 * has returned true survives a power failure.
 */
export function createOnce(
  path: string,
  data: Buffer | string,
  durable = true
): boolean {
  const isCreated = createWithoutSync(path, data, durable);
  if (isCreated && durable) trySyncDirectory(dirname(path));
  return isCreated;
}

/**
 * Like `createOnce`, without the sync of the directory. With `durable`, a power
 * failure leaves no file or the whole one.
 */
export function createWithoutSync(
  path: string,
  data: Buffer | string,
  durable = true
): boolean {
  const temporary = temporaryName(path);
  try {
    writeNew(temporary, data, durable);
    linkSync(temporary, path);
    return true;
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return false;
    throw error;
  } finally {
    discard(temporary);
  }
}

/** Removes a temporary file, if that is possible. Never throws. */
export function discard(temporary: string): void {
  try {
    remove(temporary);
  } catch {
    // Must not hide the original error; `removeLeftovers` retries later.
  }
}

/** Small parts are combined into blocks of this size to save system calls. */
const blockBytes = 64 * 1024;

/**
 * Replaces a file atomically and asynchronously, because a rename over a file
 * of megabytes may block on the disk.
 * @param isWanted called right before the rename; false keeps the old file
 */
export async function replaceInParts(
  path: string,
  parts: Iterable<string | Uint8Array>,
  isWanted: () => boolean = () => true
): Promise<void> {
  const temporary = temporaryName(path);
  try {
    const file = await open(temporary, 'wx', 0o600);
    try {
      for (const block of inBlocks(parts)) await file.writeFile(block);
    } finally {
      await file.close();
    }
    if (isWanted()) await rename(temporary, path);
    else await rm(temporary, { force: true });
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
}

function* inBlocks(parts: Iterable<string | Uint8Array>): Iterable<Uint8Array> {
  let block: Uint8Array[] = [];
  let bytes = 0;
  for (const part of parts) {
    const next = typeof part === 'string' ? Buffer.from(part) : part;
    block.push(next);
    bytes += next.byteLength;
    if (bytes < blockBytes) continue;
    yield Buffer.concat(block, bytes);
    block = [];
    bytes = 0;
  }
  yield Buffer.concat(block, bytes);
}

/** The permissions of a file, and its owner if known. */
interface FileAttributes {
  mode: number;
  uid?: number;
  gid?: number;
}

/**
 * Replaces a user's file atomically and keeps its owner and permissions. Both
 * are set before the rename, so that no other user can open the file in
 * between. A link at the path is replaced, not followed.
 */
export function replaceKeepingAttributes(
  path: string,
  text: string,
  attributes: FileAttributes
): void {
  replaceWithoutSync(path, text, false, (descriptor) => {
    changeOwner(descriptor, attributes);
    // After the change of owner, which may clear permission bits.
    fchmodSync(descriptor, attributes.mode & 0o777);
  });
}

function changeOwner(descriptor: number, attributes: FileAttributes): void {
  const now = fstatSync(descriptor);
  const { uid = now.uid, gid = now.gid } = attributes;
  if (now.uid === uid && now.gid === gid) return;
  try {
    fchownSync(descriptor, uid, gid);
  } catch (error) {
    // Only root may change the owner; for other users the file stays theirs.
    if (errnoOf(error) !== 'EPERM' || process.getuid?.() === 0) throw error;
  }
}

const isWindows = process.platform === 'win32';

/**
 * Makes a file, or the new and renamed entries of a directory, survive a power
 * failure. Windows syncs only what is open for writing, and no directories.
 */
export function syncNow(path: string): void {
  if (isWindows && statSync(path).isDirectory()) return;
  const descriptor = openSync(path, isWindows ? 'r+' : 'r');
  try {
    fdatasyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Like `syncNow`, in a thread of the pool. */
export async function syncInThread(path: string): Promise<void> {
  if (isWindows && (await stat(path)).isDirectory()) return;
  const file = await open(path, isWindows ? 'r+' : 'r');
  try {
    await file.datasync();
  } finally {
    await file.close();
  }
}

/** Removes a file; does nothing if it does not exist. */
export function remove(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error;
  }
}

/**
 * The file's text; undefined when it does not exist.
 * @throws Error for a device, a FIFO or a socket, where a read may never end
 */
export function readIfExists(path: string): string | undefined {
  return bytesIfThere(path)?.toString('utf8');
}

/** Like `readIfExists`, but returns bytes. */
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
      throw new NotRegular(`${path} is not a file`);
    return readFileSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Random hex digits for file names. They need not be unpredictable, because
 * the files are created exclusively, and node:crypto would cost 1 to 2 MB.
 */
export function hexDigits(count: number): string {
  return Array.from({ length: count }, () =>
    Math.floor(Math.random() * 16).toString(16)
  ).join('');
}

export function temporaryName(path: string): string {
  return `${path}.${process.pid}.${hexDigits(12)}.tmp`;
}

const temporaryPattern = /\.(\d+)\.[0-9a-f]{12}\.tmp$/;
/** A temporary file of a dead process is a leftover after this time. */
const deadWriterMs = 60_000;
/** Any temporary file is a leftover after this time: pids are reused. */
const leftoverMs = 86_400_000;

/** Whether the name is one of `temporaryName`. */
export function isTemporary(name: string): boolean {
  return temporaryPattern.test(name);
}

/** Removes the temporary files of killed processes from a directory. */
export function removeLeftovers(directory: string, now = Date.now()): void {
  for (const path of leftoversIn(directory, now))
    rmSync(path, { recursive: true, force: true });
}

export function leftoversIn(directory: string, now = Date.now()): string[] {
  if (!existsSync(directory)) return [];
  return readdirSync(directory).flatMap((name) => {
    const [, pid] = temporaryPattern.exec(name) ?? [];
    if (pid === undefined) return [];
    const path = join(directory, name);
    const file = statSync(path, { throwIfNoEntry: false });
    if (!file) return [];
    const limit = isRunning(Number(pid)) ? leftoverMs : deadWriterMs;
    return now - file.mtimeMs > limit ? [path] : [];
  });
}
