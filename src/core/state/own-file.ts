import {
  closeSync,
  constants,
  fdatasyncSync,
  ftruncateSync,
  lutimesSync,
  openSync,
  writeSync
} from 'node:fs';
import { writeAll } from './atomic-file.ts';

const { O_APPEND, O_CREAT, O_TRUNC, O_WRONLY } = constants;
/** Windows has no such flag. */
const O_NOFOLLOW = constants.O_NOFOLLOW ?? 0;

/**
 * Opens a file of ours to add to it, 0600 when it is new. Its name can be
 * foreseen, so it is never followed elsewhere: a link is an error (ELOOP).
 */
export function openToAppend(path: string): number {
  return openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600);
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
  const descriptor = openSync(path, O_WRONLY | O_CREAT | O_NOFOLLOW, 0o600);
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
  const descriptor = openSync(
    path,
    O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW,
    0o600
  );
  try {
    writeAll(descriptor, text);
    if (durable) fdatasyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Takes back what was added to a file of ours. */
export function cutTo(path: string, size: number): void {
  const descriptor = openSync(path, O_WRONLY | O_NOFOLLOW);
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
