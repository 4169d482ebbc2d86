import { readdirSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  hasProc,
  markerIn,
  processEntry,
  processEnvironments,
  read
} from './process-table.ts';

/** A supervisor that this process started and that has ended. */
interface EndedSupervisor {
  pid: number;
  /** The agent's folder, the marker in the environment of its processes. */
  directory: string;
  /** From `forksSoFar`, before the supervisor was started. */
  forksBefore: number;
}

/**
 * Whether an agent has certainly left no process behind. It reads only
 * processes that were started after the supervisor, so its cost does not depend
 * on how many there are: the system numbers processes in ascending order.
 * False if that is unknown: without /proc, or when so many processes were
 * started that numbers may have been reused.
 */
export async function hasLeftNothing(ended: EndedSupervisor): Promise<boolean> {
  if (hasGroup(ended.pid)) return false;
  pending ??= nextTurn().then(() => {
    pending = undefined;
    return new YoungProcesses();
  });
  return (await pending).hasNoneOf(ended);
}

/** Shared by all agents that end in one turn of the event loop. */
let pending: Promise<YoungProcesses> | undefined;

/** What decides whether a process belongs to an agent. */
interface Origin {
  session: number;
  group: number;
  marker: string | undefined;
  /** The forks when it was read. */
  forks: number;
}

/**
 * By pid, so that no process is read twice, however many agents end while it
 * runs. What is known stays true: a process inherits its session and its marker
 * at its birth, and cannot join those of an older agent later.
 */
const origins = new Map<number, Origin>();

/** The processes at one moment, read as far as needed. */
class YoungProcesses {
  readonly #pids: number[];
  /** The number of the process that was started last. */
  readonly #last: number;
  readonly #forks: number | undefined;

  constructor() {
    this.#pids = hasProc() ? readdirSync('/proc').map(Number) : [];
    // Read later than the list, which then has no higher number.
    this.#last = Number(/\d+\s*$/.exec(read('/proc/loadavg') ?? '')?.[0] ?? 0);
    this.#forks = takeSample();
    const living = new Set(this.#pids);
    for (const pid of origins.keys()) if (!living.has(pid)) origins.delete(pid);
  }

  hasNoneOf({ pid, directory, forksBefore }: EndedSupervisor): boolean {
    const forks = this.#forks;
    if (!(this.#last > 0) || forks === undefined) return false;
    if (forks - forksBefore > reuseAfter()) return false;
    if (this.#pids.includes(pid)) return false;
    const isYounger =
      this.#last >= pid
        ? (other: number) => other > pid && other <= this.#last
        : (other: number) => other > pid || other <= this.#last;
    return this.#pids.every((other) => {
      const origin = isYounger(other) ? originOf(other, forks) : undefined;
      return (
        !origin ||
        (origin.session !== pid &&
          origin.group !== pid &&
          origin.marker !== directory)
      );
    });
  }
}

/** Undefined for a process that has ended. */
function originOf(pid: number, forks: number): Origin | undefined {
  const known = origins.get(pid);
  if (known && forks - known.forks <= reuseAfter()) return known;
  const entry = processEntry(pid, true);
  if (!entry || entry.zombie) return undefined;
  const { session, group } = entry;
  const marker = markerIn(processEnvironments([pid], true).get(pid));
  const origin = { session, group, marker, forks };
  origins.set(pid, origin);
  return origin;
}

/** A count of forks of this age still serves as one from before a start. */
const sampleMs = 10_000;

let sample = { forks: 0, at: Number.NEGATIVE_INFINITY };

/**
 * The processes and threads that were started since the machine has started, as
 * counted now or some seconds ago; undefined if that is unknown.
 */
export function forksSoFar(): number | undefined {
  return performance.now() - sample.at < sampleMs ? sample.forks : takeSample();
}

function takeSample(): number | undefined {
  const text = hasProc() ? read('/proc/stat') : undefined;
  const forks = Number(/^processes (\d+)$/m.exec(text ?? '')?.[1] ?? 0);
  if (forks === 0) return undefined;
  sample = { forks, at: performance.now() };
  return forks;
}

let mostForks: number | undefined;

/** Within this number of forks, no process number is used twice. */
function reuseAfter(): number {
  mostForks ??= Number(read('/proc/sys/kernel/pid_max') ?? 0) / 2;
  return mostForks;
}

function hasGroup(pid: number): boolean {
  try {
    process.kill(-pid, 0);
    return true;
  } catch (error) {
    return !(
      error instanceof Error &&
      'code' in error &&
      error.code === 'ESRCH'
    );
  }
}
