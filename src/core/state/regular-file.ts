import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  type ReadStream,
  readFileSync,
  type Stats
} from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';

/** Windows has neither flag. */
const { O_NOFOLLOW = 0, O_NONBLOCK = 0, O_RDONLY } = constants;

/**
 * For reading, without waiting: opening a FIFO blocks until it has a writer,
 * and blocks a thread that no signal ends.
 */
export const readFlags = O_RDONLY | O_NONBLOCK;

/** The same, and a symbolic link is an error (ELOOP). */
export const ownReadFlags = readFlags | O_NOFOLLOW;

/** The path names a FIFO, a device, a socket or a directory. */
export class NotRegular extends Error {
  /** As the system says of a directory, for callers that tell errors apart. */
  readonly code = 'EISDIR';
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

/** The same off the event loop. */
export async function openRegularLater(
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

/** A regular file as a stream that closes it; a symbolic link is an error. */
export async function streamRegular(
  path: string,
  options: { encoding?: BufferEncoding; highWaterMark?: number } = {}
): Promise<ReadStream> {
  const handle = await openRegularLater(path, ownReadFlags);
  return handle.createReadStream(options);
}

/**
 * The bytes of a regular file.
 * @throws NotRegular, or the system's error
 */
export function readRegular(path: string, flags = readFlags): Buffer {
  const descriptor = openRegular(path, flags);
  try {
    return readFileSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function checkRegular(path: string, stats: Stats): void {
  if (!stats.isFile()) throw new NotRegular(`${path} is no regular file`);
}
