import { readdirSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  hasProc,
  markerIn,
  type ProcessEntry,
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

/**
 * Of more processes, each end would read a part: one look at all processes,
 * which many ends share, costs less.
 */
const mostRead = 64;

/** The processes at one moment, read as far as needed. */
class YoungProcesses {
  readonly #pids: number[];
  /** The number of the process that was started last. */
  readonly #last: number;
  readonly #forks: number | undefined;
  readonly #read = new Map<number, ProcessEntry & { marker?: string }>();

  constructor() {
    this.#pids = hasProc() ? readdirSync('/proc').map(Number) : [];
    // Read later than the list, which then has no higher number.
    this.#last = Number(/\d+\s*$/.exec(read('/proc/loadavg') ?? '')?.[0] ?? 0);
    this.#forks = takeSample();
  }

  hasNoneOf({ pid, directory, forksBefore }: EndedSupervisor): boolean {
    if (!(this.#last > 0) || this.#forks === undefined) return false;
    if (this.#forks - forksBefore > reuseAfter()) return false;
    if (this.#pids.includes(pid)) return false;
    const isYounger =
      this.#last >= pid
        ? (other: number) => other > pid && other <= this.#last
        : (other: number) => other > pid || other <= this.#last;
    const young = this.#pids.filter(isYounger);
    return (
      young.length <= mostRead &&
      young.every((other) => {
        const entry = this.#entryOf(other);
        return (
          !entry ||
          (entry.session !== pid &&
            entry.group !== pid &&
            entry.marker !== directory)
        );
      })
    );
  }

  /** Undefined for a process that has ended. */
  #entryOf(pid: number) {
    const known = this.#read.get(pid);
    if (known) return known;
    const entry = processEntry(pid, true);
    if (!entry || entry.zombie) return undefined;
    const marker = markerIn(processEnvironments([pid], true).get(pid));
    const young = { ...entry, ...(marker === undefined ? {} : { marker }) };
    this.#read.set(pid, young);
    return young;
  }
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
