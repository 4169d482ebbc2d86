import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  lstatSync,
  lutimesSync,
  openSync,
  type Stats
} from 'node:fs';
import { HostError } from '../../errors.ts';
import { writeAll } from './atomic-file.ts';

const { O_APPEND, O_CREAT, O_RDWR, O_WRONLY } = constants;
/** Windows supports neither flag. */
const { O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;

/**
 * Opens a state file for appending; a new file has mode 0600. The name is
 * predictable, so another process may have prepared the path. A symbolic link
 * is an error (ELOOP), and so is a FIFO, a device, or a file with a hard link,
 * whose other name would receive the text too.
 * @throws HostError `state_unsafe`, or the system's error
 */
export function openToAppend(path: string): number {
  return openOwn(path, O_WRONLY | O_APPEND | O_CREAT);
}

/** Like `openToAppend`, but also readable, to find and truncate a torn line. */
export function openToRepair(path: string, create: boolean): number {
  return openOwn(path, O_RDWR | O_APPEND | (create ? O_CREAT : 0));
}

/** Appends text to a state file, with the checks of `openToAppend`. */
export function appendTo(path: string, text: string): void {
  withOwn(path, O_WRONLY | O_APPEND | O_CREAT, (descriptor) => {
    writeAll(descriptor, text);
  });
}

/**
 * Overwrites the beginning of a small state file in place, which needs no new
 * disk space. The rest of a longer old text remains. Applies the checks of
 * `openToAppend`.
 */
export function overwriteStart(path: string, text: string): void {
  withOwn(path, O_WRONLY | O_CREAT, (descriptor) => {
    writeAll(descriptor, text);
  });
}

/**
 * Truncates and rewrites a state file in place, or creates it. Applies the
 * checks of `openToAppend`.
 */
export function overwriteFile(path: string, text: string): void {
  withOwn(path, O_WRONLY | O_CREAT, (descriptor) => {
    // O_TRUNC would truncate the file before it is checked.
    ftruncateSync(descriptor);
    writeAll(descriptor, text);
  });
}

/** An open file keeps its disk from being mounted read-only. */
const idleMs = 500;

/**
 * A state file that this process writes again and again. It stays open between
 * writes that follow each other within half a second, and is opened again when
 * another file has its path. Applies the checks of `openToAppend`.
 */
export class KeptFile {
  readonly #path: string;
  readonly #flags: number;
  #kept: { descriptor: number; dev: number; ino: number } | undefined;
  #idle: NodeJS.Timeout | undefined;

  /** @param appends false for a file whose start is overwritten */
  constructor(path: string, appends = true) {
    this.#path = path;
    this.#flags = O_WRONLY | O_CREAT | (appends ? O_APPEND : 0);
  }

  /** The descriptor, to be used at once; the caller must not close it. */
  open(): number {
    if (this.#idle) this.#idle.refresh();
    else this.#idle = setTimeout(() => this.close(), idleMs).unref();
    const file = lstatSync(this.#path, { throwIfNoEntry: false });
    const kept = this.#kept;
    if (kept && file?.dev === kept.dev && file.ino === kept.ino) {
      checkOwn(this.#path, file);
      return kept.descriptor;
    }
    this.#drop();
    const descriptor = openOwn(this.#path, this.#flags);
    const { dev, ino } = fstatSync(descriptor);
    this.#kept = { descriptor, dev, ino };
    return descriptor;
  }

  close(): void {
    clearTimeout(this.#idle);
    this.#idle = undefined;
    this.#drop();
  }

  #drop(): void {
    if (this.#kept) closeSync(this.#kept.descriptor);
    this.#kept = undefined;
  }
}

/** Truncates a state file, with the checks of `openToAppend`. */
export function truncateTo(path: string, size: number): void {
  withOwn(path, O_WRONLY, (descriptor) => ftruncateSync(descriptor, size));
}

/**
 * Sets the access and modification time to now; a link is not followed.
 * @throws the system's error when there is no such file
 */
export function touch(path: string): void {
  const now = new Date();
  lutimesSync(path, now, now);
}

/**
 * Refuses a file that is not regular or has another hard link.
 * @throws HostError `state_unsafe`
 */
function checkOwn(path: string, stats: Stats): void {
  if (!stats.isFile()) throw notRegularError(path);
  if (stats.nlink > 1) throw hardLinkError(path);
}

function withOwn(
  path: string,
  flags: number,
  work: (descriptor: number) => void
): void {
  const descriptor = openOwn(path, flags);
  try {
    work(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function openOwn(path: string, flags: number): number {
  // With O_NONBLOCK, a FIFO without a reader is an error (ENXIO).
  const descriptor = openSync(path, flags | O_NOFOLLOW | O_NONBLOCK, 0o600);
  try {
    checkOwn(path, fstatSync(descriptor));
    return descriptor;
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

export function symbolicLinkError(path: string): HostError {
  return unsafePathError(
    path,
    'is a symbolic link, so writes to it would go elsewhere',
    `See where it leads, remove the link (unlink ${path}), and call again.`
  );
}

export function hardLinkError(path: string): HostError {
  return unsafePathError(
    path,
    'has another name (a hard link), so writes to it would change another file too',
    `Find the other name (find / -xdev -samefile ${path}), remove this one (unlink ${path}), and call again.`
  );
}

export function notRegularError(path: string): HostError {
  return unsafePathError(
    path,
    'is not a regular file',
    'Move it away and call again.'
  );
}

/** @param what the user's next step */
export function unsafePathError(
  path: string,
  why: string,
  what: string
): HostError {
  return new HostError(
    'state_unsafe',
    `${path} ${why}.`,
    `Nothing was written. ${what}`
  );
}
