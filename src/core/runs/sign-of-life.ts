import { statSync } from 'node:fs';
import { join } from 'node:path';
import { readIfExists } from '../state/files/atomic-file.ts';
import { overwriteFile } from '../state/files/own-file.ts';
import type { Processes } from './ports.ts';

/**
 * The heartbeat of a process on another machine or in another container is a
 * change of a file in its agent's folder, at least every 15 seconds. A machine
 * compares only its own readings, so the clocks of two machines need not agree.
 */

/** The time of about six missed heartbeats. */
const silentSeconds = 100;

/** A longer pause between readings counts as this, as a machine may sleep. */
const longestStepSeconds = 5;

interface Watched {
  /** The mtimes of the files that count as a heartbeat. */
  sign: string;
  /** Seconds for which the sign has not changed. */
  quiet: number;
  /** By `uptime`. */
  readAt: number;
}

const watched = new Map<string, Watched>();
const givenUp = new Set<string>();

/** True when no heartbeat of an agent has been seen for about 100 s. */
export function isSilent(
  directory: string,
  { place }: Processes['self']
): boolean {
  if (givenUp.has(directory)) return true;
  const sign = signIn(directory);
  const now = uptime();
  const before = watched.get(directory);
  const quiet =
    before === undefined
      ? quietBefore(directory, place, sign)
      : before.sign === sign
        ? before.quiet + Math.min(now - before.readAt, longestStepSeconds)
        : 0;
  watched.set(directory, { sign, quiet, readAt: now });
  return quiet >= silentSeconds;
}

/** Makes an agent count as silent in this process from now on. */
export function giveUp(directory: string): void {
  givenUp.add(directory);
}

/** Writes this server's heartbeat for an agent in its queue. */
export function touchAlive(directory: string): void {
  try {
    overwriteFile(join(directory, signFile), '');
  } catch {
    // The folder was removed, or the disk is full.
  }
}

/** Always empty; only its mtime counts. */
const signFile = 'alive';

/** An agent's output and the announcement of its start count as heartbeats. */
const signs = [signFile, 'starting', 'stdout', 'stderr'];

function signIn(directory: string): string {
  return signs
    .map((name) => {
      const path = join(directory, name);
      return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? '-';
    })
    .join(' ');
}

/**
 * Seconds for which earlier processes of this place have seen the same sign. A
 * file stores the time of the first reading, for commands that read only once.
 */
function quietBefore(directory: string, place: string, sign: string): number {
  const path = join(directory, 'silent');
  const seen = `${place}\n${sign}\n`;
  try {
    const note = readIfExists(path) ?? '';
    const since = Number(note.slice(seen.length) || Number.NaN);
    const quiet = uptime() - since;
    if (note.startsWith(seen) && quiet >= 0) return quiet;
    overwriteFile(path, `${seen}${uptime()}`);
  } catch {
    // Unknown does not mean dead, so the count starts at 0.
  }
  return 0;
}

/** Seconds of the machine's monotonic clock; sleep counts on some systems. */
function uptime(): number {
  return process.hrtime()[0];
}
