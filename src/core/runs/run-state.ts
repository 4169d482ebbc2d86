import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { Processes } from './ports.ts';
import type { RunRecord } from './run.ts';
import { type Claim, claimOf, hasExited, isStarting } from './run-files.ts';

/**
 * Where a run without recorded outcome stands, from facts alone.
 * `ended`: its exit code is there. `lost`: nobody is left who could write it.
 */
export type LiveState = 'queued' | 'running' | 'ended' | 'lost';

/** A supervisor that has claimed a run writes itself down within this time. */
const claimMs = 5000;

export function liveStateOf(
  record: Pick<RunRecord, 'owner'>,
  directory: string,
  processes: Processes
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

function isHeld(
  claim: Claim,
  directory: string,
  processes: Processes
): boolean {
  if (claim.supervisor) return processes.liveness(claim.supervisor) !== 'dead';
  const { mtimeMs } = statSync(join(directory, 'claim'));
  return Math.abs(Date.now() - mtimeMs) < claimMs;
}
