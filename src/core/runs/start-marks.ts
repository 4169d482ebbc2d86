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

/** The server that starts a run whose own server was killed before that. */
export function heirOf(
  directory: string,
  place: string
): ProcessIdentity | undefined {
  const text = readIfExists(fileIn(directory, 'heir'));
  const [, pid, start = ''] = /^(\d+) (.*)\n$/.exec(text ?? '') ?? [];
  return pid === undefined ? undefined : { pid: Number(pid), start, place };
}

/** Returns false if another server was faster. */
export function becomeHeir(
  directory: string,
  { pid, start }: ProcessIdentity
): boolean {
  return createOnce(fileIn(directory, 'heir'), `${pid} ${start}\n`);
}
