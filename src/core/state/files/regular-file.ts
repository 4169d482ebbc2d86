import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  type ReadStream,
  readFileSync,
  readSync,
  type Stats
} from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { errnoOf } from '../../errors.ts';

/** Windows supports neither flag. */
const { O_NOFOLLOW = 0, O_NONBLOCK = 0, O_RDONLY } = constants;

/**
 * Flags for a non-blocking open. Without O_NONBLOCK, opening a FIFO blocks a
 * thread until the FIFO has a writer, and no signal can interrupt it.
 */
export const readFlags = O_RDONLY | O_NONBLOCK;

/** Like `readFlags`, but a symbolic link is an error (ELOOP). */
export const ownReadFlags = readFlags | O_NOFOLLOW;

/** The path is a FIFO, a device, a socket or a directory. */
export class NotRegular extends Error {
  /** The errno of a read of a directory, for callers that check codes. */
  readonly code = 'EISDIR';
}

/** Errors of an open or a read whose path leads to no regular file. */
const irregular = ['EISDIR', 'ELOOP', 'ENXIO'];

/**
 * What `read` returns; '' if its path leads to a directory, a FIFO or the like,
 * which then counts as a damaged file.
 */
export function damagedIfIrregular(
  read: () => string | undefined
): string | undefined {
  try {
    return read();
  } catch (error) {
    if (irregular.includes(errnoOf(error) ?? '')) return '';
    throw error;
  }
}

/**
 * Opens a regular file for reading; the caller closes it.
 * @throws NotRegular, or the system's error
 */
export function openRegular(path: string, flags = readFlags): number {
  const descriptor = openSync(path, O_RDONLY | flags);
  try {
    checkRegular(path, fstatSync(descriptor));
    return descriptor;
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

/** The asynchronous version of `openRegular`. */
export async function openRegularAsync(
  path: string,
  flags = readFlags
): Promise<FileHandle> {
  const handle = await open(path, flags);
  try {
    checkRegular(path, await handle.stat());
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Streams a regular file and closes it; a symbolic link is an error. */
export async function streamRegular(
  path: string,
  options: { encoding?: BufferEncoding; highWaterMark?: number } = {}
): Promise<ReadStream> {
  const handle = await openRegularAsync(path, ownReadFlags);
  return handle.createReadStream(options);
}

/** @throws NotRegular, or the system's error */
export function readRegular(path: string, flags = readFlags): Buffer {
  const descriptor = openRegular(path, flags);
  try {
    return readFileSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Reads up to `length` bytes from an offset; a symbolic link is an error. */
export function readPart(path: string, from: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  const descriptor = openRegular(path, ownReadFlags);
  try {
    return bytes.subarray(0, readSync(descriptor, bytes, 0, length, from));
  } finally {
    closeSync(descriptor);
  }
}

function checkRegular(path: string, stats: Stats): void {
  if (!stats.isFile()) throw new NotRegular(`${path} is not a regular file`);
}
