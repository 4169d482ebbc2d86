import { existsSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileIn } from '../paths/paths.ts';
import type { ProcessIdentity } from '../processes/process-identity.ts';
import {
  createOnce,
  readIfExists,
  remove,
  writeNew
} from '../state/files/atomic-file.ts';
import { namesIn } from '../state/files/directories.ts';
import { moveIfThere } from '../state/files/move.ts';
import { overwriteFile, touch } from '../state/files/own-file.ts';

/** Renamed to `starting`, because a rename succeeds on a full disk. */
export const notStarting = 'unstarted';

/** Announces an imminent start of a run, or withdraws the announcement. */
export function setStarting(directory: string, on: boolean): void {
  const path = fileIn(directory, 'starting');
  if (!on) {
    remove(path);
    return;
  }
  const waiting = join(directory, notStarting);
  // An announcement that was withdrawn has removed the file.
  if (existsSync(waiting)) touch(waiting);
  else overwriteFile(waiting, '');
  renameSync(waiting, path);
}

/**
 * Withdraws the announcement of a run that is queued again, and keeps its file
 * for the next one. Never throws.
 */
export function undoStarting(directory: string): void {
  try {
    moveIfThere(fileIn(directory, 'starting'), join(directory, notStarting));
  } catch {
    // On a read-only disk, the announcement expires.
  }
}

/** Interval at which the announcement of a slow start is renewed. */
const renewMs = 250;

/** Renews the announcement until the work is over. */
export async function whileStarting<T>(
  directory: string,
  work: Promise<T>,
  onRenewed: () => void = () => undefined
): Promise<T> {
  const renewal = setInterval(() => {
    touchStarting(directory);
    onRenewed();
  }, renewMs);
  try {
    return await work;
  } finally {
    clearInterval(renewal);
  }
}

/** Renews the announcement, which would expire during a slow start. */
export function touchStarting(directory: string): void {
  try {
    touch(fileIn(directory, 'starting'));
  } catch {
    // Another run may then take the slot, which does not affect this one.
  }
}

export function isStarting(directory: string): boolean {
  return existsSync(fileIn(directory, 'starting'));
}

export function startingSince(directory: string): Date | undefined {
  return statSync(fileIn(directory, 'starting'), { throwIfNoEntry: false })
    ?.mtime;
}

/** Records that all earlier runs have ended and the run only needs a slot. */
export function noteReady(directory: string): void {
  const path = fileIn(directory, 'ready');
  if (!existsSync(path)) writeNew(path, '');
}

export function isReady(directory: string): boolean {
  return existsSync(fileIn(directory, 'ready'));
}

/**
 * A run whose servers are killed again and again is given up at last. Each
 * command that ends before the run is prepared counts, too.
 */
export const mostHeirs = 50;

/** A server that starts a run whose own server was killed before that. */
export interface Heir {
  /** Undefined if its file is damaged. */
  identity: ProcessIdentity | undefined;
  since: Date;
  /** 1 for the first heir. Each has a file of its own: `heir.1`. */
  number: number;
}

/** The last heir of a run, which starts it unless it is gone as well. */
export function heirOf(directory: string, place: string): Heir | undefined {
  const numbers = namesIn(directory).map((name) =>
    Number(/^heir\.(\d+)$/.exec(name)?.[1] ?? 0)
  );
  const number = Math.max(0, ...numbers);
  const path = heirFile(directory, number);
  const file = statSync(path, { throwIfNoEntry: false });
  if (!file) return undefined;
  const text = readIfExists(path) ?? '';
  const [, pid, start = ''] = /^(\d+) (.*)\n$/.exec(text) ?? [];
  const identity =
    pid === undefined ? undefined : { pid: Number(pid), start, place };
  return { identity, since: file.mtime, number };
}

/**
 * Returns false if another server was faster, or if there were too many.
 * @param last the last heir, which is gone
 */
export function becomeHeir(
  directory: string,
  { pid, start }: ProcessIdentity,
  last: Heir | undefined
): boolean {
  const number = (last?.number ?? 0) + 1;
  return (
    number <= mostHeirs &&
    createOnce(heirFile(directory, number), `${pid} ${start}\n`)
  );
}

function heirFile(directory: string, number: number): string {
  return fileIn(directory, `heir.${number}`);
}
