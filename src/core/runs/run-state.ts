import { setTimeout as delay } from 'node:timers/promises';
import type { ProcessIdentity } from '../processes/process-identity.ts';
import { isRefused } from './damaged-run.ts';
import type { Processes } from './ports.ts';
import type { RunRecord } from './run.ts';
import {
  type Claim,
  claimNeverStarts,
  claimOf,
  exitedAt,
  hasExited,
  startedAt,
  wasLaunched
} from './run-files.ts';
import { isSilent } from './sign-of-life.ts';
import {
  type Heir,
  heirOf,
  isStarting,
  mostHeirs,
  startingSince
} from './start-marks.ts';

/**
 * The state of a run without a recorded outcome, derived from its files and
 * processes. `preparing`: it has a slot, but its program is not launched yet.
 * `orphaned`: its server was killed then, and another one may start it.
 * `ended`: its exit code is written. `lost`: no process is left that could
 * write it.
 */
export type LiveState =
  | 'queued'
  | 'preparing'
  | 'orphaned'
  | 'running'
  | 'ended'
  | 'lost';

export type Status = 'queued' | 'running' | 'ended';

/**
 * The status for callers. A run that is being prepared runs if it outlives its
 * server, and is queued if it does not. It is queued as well while no server
 * has taken it over.
 */
export function statusOf(state: LiveState, record: Heritable = {}): Status {
  if (state === 'orphaned') return 'queued';
  if (state === 'preparing') return isHeritable(record) ? 'running' : 'queued';
  return isOverIn(state) ? 'ended' : state;
}

export function isOverIn(state: LiveState): state is 'ended' | 'lost' {
  return state === 'ended' || state === 'lost';
}

/** A supervisor writes its identity into its claim within this time. */
const claimMs = 5000;

/** The pause before a claim without an identity is checked again. */
const claimPauseMs = 500;

/** The system does not reuse the pids of a run within this time. */
const freshMs = 10_000;

/** True when a run started or ended too recently for its pids to be reused. */
export function isFresh(directory: string): boolean {
  return [startedAt(directory), exitedAt(directory)].some(
    (at) => at !== undefined && Math.abs(Date.now() - at.getTime()) < freshMs
  );
}

/**
 * Milliseconds for which a caller that reads many runs waits for one end to be
 * recorded, because that may run a slow git command. A run without a known
 * supervisor gets more time, because it is checked twice.
 * @param among the number of runs that seem to have ended; they share the time
 */
export function settlingMs(
  directory: string,
  place: string,
  among = 1
): number {
  return claimOf(directory, place)?.supervisor ? 20 / among : 1000;
}

export function liveStateOf(
  record: Pick<RunRecord, 'owner'> & Heritable,
  directory: string,
  processes: Pick<Processes, 'self' | 'liveness'>
): LiveState {
  const claim = claimOf(directory, record.owner.place);
  if (!claim) return unclaimedStateOf(record, directory, processes);
  if (hasExited(directory)) return 'ended';
  if (claim.never) return 'lost';
  return isHeld(claim, directory, processes)
    ? 'running'
    : // The exit code may have been written between the two checks.
      hasExited(directory)
      ? 'ended'
      : 'lost';
}

function unclaimedStateOf(
  record: Pick<RunRecord, 'owner'> & Heritable,
  directory: string,
  processes: Pick<Processes, 'self' | 'liveness'>
): LiveState {
  const { owner } = record;
  if (!isAlive(owner, directory, processes)) {
    const heir = heirOf(directory, owner.place);
    if (!(heir?.identity && isAlive(heir.identity, directory, processes)))
      return isHeritable(record) &&
        isInherited(owner, directory, heir, processes)
        ? 'orphaned'
        : 'lost';
  }
  if (!isStarting(directory)) return 'queued';
  return wasLaunched(directory) ? 'running' : 'preparing';
}

/** The part of a record that decides whether another server may start it. */
export type Heritable = Partial<
  Pick<
    RunRecord,
    'kind' | 'on_disconnect' | 'template' | 'program' | 'in_chat' | 'access'
  >
>;

/**
 * Whether another server has all that it takes to start a run: its record has
 * neither a template nor the command that creates a chat.
 */
export function isHeritable(record: Heritable): boolean {
  const { kind, on_disconnect, template, program, in_chat } = record;
  return (
    kind === 'cli' &&
    on_disconnect === 'keep' &&
    template === undefined &&
    program === undefined &&
    !in_chat
  );
}

/** A run that no server has taken over within this time never starts. */
const inheritanceMs = 60_000;

/**
 * Whether a server on this machine prepared the run, or was to start it as its
 * heir, until a moment ago.
 */
function isInherited(
  owner: ProcessIdentity,
  directory: string,
  heir: Heir | undefined,
  { self }: Pick<Processes, 'self'>
): boolean {
  const times = [startingSince(directory), heir?.since];
  const isRecent = (at: Date | undefined) =>
    at !== undefined && Math.abs(Date.now() - at.getTime()) < inheritanceMs;
  return (
    owner.place === self.place &&
    (heir?.number ?? 0) < mostHeirs &&
    times.some(isRecent)
  );
}

/**
 * Like `liveStateOf`, for a run whose supervisor this process has started and
 * not seen end: the end of the supervisor is an event, so it is not looked at.
 */
export function ownStateOf(
  record: Pick<RunRecord, 'owner'> & Heritable,
  directory: string,
  processes: Pick<Processes, 'self' | 'liveness'>
): LiveState {
  const claim = claimOf(directory, record.owner.place);
  return claim?.supervisor && !hasExited(directory)
    ? 'running'
    : liveStateOf(record, directory, processes);
}

/**
 * Checks again whether a run is over, right before its processes are stopped:
 * another process may have started it. A run without a claim is claimed as
 * `never`, so that it can no longer start; false while the disk refuses that.
 */
export async function isOver(
  record: Pick<RunRecord, 'owner'>,
  directory: string,
  processes: Pick<Processes, 'self' | 'liveness'>
): Promise<boolean> {
  const claim = claimOf(directory, record.owner.place);
  if (!claim) {
    const never = tryNeverStarts(directory);
    if ('isClaimed' in never) return !never.isClaimed;
    if (isRefused(never.problem, directory)) return false;
    throw never.problem;
  }
  // Unlike the age of the claim, a pause does not depend on any clock.
  if (!claim.supervisor && !claim.never) await delay(claimPauseMs);
  return isOverIn(liveStateOf(record, directory, processes));
}

/**
 * Like `claimNeverStarts`, but never throws.
 * @returns the problem if that cannot be recorded, as on a full disk
 */
export function tryNeverStarts(
  directory: string
): { isClaimed: boolean } | { problem: unknown } {
  try {
    return { isClaimed: !claimNeverStarts(directory) };
  } catch (problem) {
    return { problem };
  }
}

function isHeld(
  claim: Claim,
  directory: string,
  processes: Pick<Processes, 'self' | 'liveness'>
): boolean {
  if (claim.supervisor) return isAlive(claim.supervisor, directory, processes);
  // A supervisor that cannot write its identity has removed the claim.
  const since = startedAt(directory) ?? new Date();
  return Math.abs(Date.now() - since.getTime()) < claimMs;
}

/**
 * True when the liveness of a run's supervisor is unknown, because it is or was
 * on another machine or in another container.
 */
export function isUnseen(
  record: Pick<RunRecord, 'owner'>,
  directory: string,
  processes: Pick<Processes, 'liveness'>
): boolean {
  const supervisor = claimOf(directory, record.owner.place)?.supervisor;
  return supervisor ? processes.liveness(supervisor) === 'unknown' : false;
}

/** A process of unknown liveness is alive while its heartbeat continues. */
function isAlive(
  process: ProcessIdentity,
  directory: string,
  { self, liveness }: Pick<Processes, 'self' | 'liveness'>
): boolean {
  const seen = liveness(process);
  return seen === 'unknown' ? !isSilent(directory, self) : seen === 'alive';
}
