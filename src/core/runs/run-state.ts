import { statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Processes } from './ports.ts';
import type { RunRecord } from './run.ts';
import {
  type Claim,
  claimNeverStarts,
  claimOf,
  exitedAt,
  hasExited,
  isStarting,
  startedAt
} from './run-files.ts';

/**
 * Where a run without recorded outcome stands, from facts alone.
 * `ended`: its exit code is there. `lost`: nobody is left who could write it.
 */
export type LiveState = 'queued' | 'running' | 'ended' | 'lost';

/** A supervisor that has claimed a run writes itself down within this time. */
const claimMs = 5000;

/** Between two looks at a claim that nobody has written himself into yet. */
const claimPauseMs = 500;

/** So long after an end, no other session has the number of that run's. */
const freshMs = 10_000;

/** It began or ended moments ago. */
export function isFresh(directory: string): boolean {
  return [startedAt(directory), exitedAt(directory)].some(
    (at) => at !== undefined && Math.abs(Date.now() - at.getTime()) < freshMs
  );
}

/**
 * So long who asks about many waits for the end of one to be written down: it
 * may take git its time to say what an agent left behind. One whose starter
 * was not seen is looked at again after a pause, to be sure that it is over.
 * @param among so many that seem to be over: of hundreds that end at once some
 *   are behind, however long each is waited for
 */
export function settlingMs(
  directory: string,
  place: string,
  among = 1
): number {
  return claimOf(directory, place)?.supervisor ? 20 / among : 1000;
}

export function liveStateOf(
  record: Pick<RunRecord, 'owner'>,
  directory: string,
  processes: Pick<Processes, 'liveness'>
): LiveState {
  const claim = claimOf(directory, record.owner.place);
  if (!claim) {
    if (processes.liveness(record.owner) === 'dead') return 'lost';
    return isStarting(directory) ? 'running' : 'queued';
  }
  if (hasExited(directory)) return 'ended';
  if (claim.never) return 'lost';
  return isHeld(claim, directory, processes)
    ? 'running'
    : // It may have written its exit code between our two looks.
      hasExited(directory)
      ? 'ended'
      : 'lost';
}

/**
 * A second look at a run that seems to be over, before its processes are
 * ended: somebody may have started it since. Who has no claim loses it here.
 */
export async function isOver(
  record: Pick<RunRecord, 'owner'>,
  directory: string,
  processes: Pick<Processes, 'liveness'>
): Promise<boolean> {
  const claim = claimOf(directory, record.owner.place);
  if (!claim) return claimNeverStarts(directory);
  // How old it is depends on whose clock is right; a pause does not.
  if (!claim.supervisor && !claim.never) await delay(claimPauseMs);
  const state = liveStateOf(record, directory, processes);
  return state === 'ended' || state === 'lost';
}

function isHeld(
  claim: Claim,
  directory: string,
  processes: Pick<Processes, 'liveness'>
): boolean {
  if (claim.supervisor) return processes.liveness(claim.supervisor) !== 'dead';
  const { mtimeMs } = statSync(join(directory, 'claim'));
  return Math.abs(Date.now() - mtimeMs) < claimMs;
}
