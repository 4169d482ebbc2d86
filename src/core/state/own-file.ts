import {
  closeSync,
  constants,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  lutimesSync,
  openSync,
  type Stats,
  writeSync
} from 'node:fs';
import { writeAll } from './atomic-file.ts';
import { hasOtherNames, isNoFile } from './unsafe.ts';

const { O_APPEND, O_CREAT, O_RDWR, O_WRONLY } = constants;
/** Windows has neither flag. */
const { O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;

/**
 * Opens a file of ours to add to it, 0600 when it is new. Its name can be
 * foreseen, so another process may have put something else there: a symbolic
 * link is an error (ELOOP), and so is a FIFO, a device, or a file with a
 * second name, because the text would land in that file too.
 * @throws HostError `state_unsafe`, or the system's error
 */
export function openToAppend(path: string): number {
  return openOwn(path, O_WRONLY | O_APPEND | O_CREAT);
}

/** The same for a log whose torn end is cut off before it grows. */
export function openToRepair(path: string, create: boolean): number {
  return openOwn(path, create ? O_RDWR | O_APPEND | O_CREAT : O_RDWR);
}

/** Adds a text to a file of ours; the same holds. */
export function appendTo(path: string, text: string): void {
  const descriptor = openToAppend(path);
  try {
    writeSync(descriptor, text);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Writes a text over the beginning of a small file of ours, where it lies and
 * needs no more room; the same holds. What was longer keeps its end.
 */
export function writeOver(path: string, text: string): void {
  const descriptor = openOwn(path, O_WRONLY | O_CREAT);
  try {
    writeSync(descriptor, text);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Gives a file of ours that was laid out for it all that it is to hold; the
 * same holds. `durable` waits for the disk.
 */
export function fillIn(path: string, text: string, durable = false): void {
  const descriptor = openOwn(path, O_WRONLY | O_CREAT);
  try {
    // Not O_TRUNC: it would empty the file before it is checked.
    ftruncateSync(descriptor);
    writeAll(descriptor, text);
    if (durable) fdatasyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Takes back what was added to a file of ours. */
export function cutTo(path: string, size: number): void {
  const descriptor = openOwn(path, O_WRONLY);
  try {
    ftruncateSync(descriptor, size);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Sets the time of a file of ours; a link's own, not of what it leads to.
 * @throws the system's error when there is no such file
 */
export function touch(path: string): void {
  const now = new Date();
  lutimesSync(path, now, now);
}

/**
 * Refuses an open file that may not be written to by this name.
 * @throws HostError `state_unsafe`
 */
export function checkOwn(path: string, stats: Stats): void {
  if (!stats.isFile()) throw isNoFile(path);
  if (stats.nlink > 1) throw hasOtherNames(path);
}

function openOwn(path: string, flags: number): number {
  // Without waiting: a FIFO that nothing reads is an error (ENXIO).
  const descriptor = openSync(path, flags | O_NOFOLLOW | O_NONBLOCK, 0o600);
  try {
    checkOwn(path, fstatSync(descriptor));
    return descriptor;
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}
