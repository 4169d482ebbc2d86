import { readdirSync } from 'node:fs';
import {
  setTimeout as delay,
  setImmediate as nextTurn
} from 'node:timers/promises';
import {
  hasGroup,
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

/** Looks at processes of which some cannot be read yet, and the pause between. */
const mostLooks = 5;
const pauseMs = 10;

/**
 * Whether an agent has certainly left no process behind. It reads only
 * processes that were started after the supervisor, so its cost does not depend
 * on how many there are: the system numbers processes in ascending order.
 * False if that is unknown: without /proc, when so many processes were started
 * that numbers may have been reused, or when each look finds new processes that
 * cannot be read.
 */
export async function hasLeftNothing(ended: EndedSupervisor): Promise<boolean> {
  for (let looks = 1; looks <= mostLooks; looks += 1) {
    if (hasGroup(ended.pid)) return false;
    pending ??= nextTurn().then(() => {
      pending = undefined;
      return new YoungProcesses();
    });
    const hasNone = (await pending).hasNoneOf(ended);
    if (hasNone !== undefined) return hasNone;
    await delay(pauseMs);
  }
  return false;
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
  /** When it was first read, by the monotonic clock. */
  since: number;
  /** It has no environment yet, as in its `execve`. */
  isBare: boolean;
  /** Whether it is not read again. */
  isFinal: boolean;
}

/** A process without a readable environment is read again for this time. */
const newMs = 2000;

/**
 * By pid, so that no process is read again once its environment is known,
 * however many agents end while it runs. What is known stays true: a process
 * inherits its session and its marker at its birth, and cannot join those of an
 * older agent later.
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

  /**
   * Undefined if some could not be read: one that ended after it was listed may
   * have started another one in between.
   */
  hasNoneOf({
    pid,
    directory,
    forksBefore
  }: EndedSupervisor): boolean | undefined {
    const forks = this.#forks;
    if (!(this.#last > 0) || forks === undefined) return false;
    if (forks - forksBefore > reuseAfter()) return false;
    if (this.#pids.includes(pid)) return false;
    const isYounger =
      this.#last >= pid
        ? (other: number) => other > pid && other <= this.#last
        : (other: number) => other > pid || other <= this.#last;
    let isSure = true;
    for (const other of this.#pids) {
      if (!isYounger(other)) continue;
      const origin = originOf(other, forks);
      if (
        origin?.session === pid ||
        origin?.group === pid ||
        origin?.marker === directory
      )
        return false;
      if (!origin || origin.isBare) isSure = false;
    }
    return isSure || undefined;
  }
}

/** Undefined for a process that has ended since the last look. */
function originOf(pid: number, forks: number): Origin | undefined {
  const before = origins.get(pid);
  const known =
    before && forks - before.forks <= reuseAfter() ? before : undefined;
  if (known?.isFinal) return known;
  const entry = processEntry(pid, true);
  if (!entry) return undefined;
  const { session, group, zombie, kernel } = entry;
  const now = performance.now();
  const since = known?.since ?? now;
  const text =
    zombie || kernel ? undefined : processEnvironments([pid], true).get(pid);
  const isNew = now - since < newMs;
  const origin = {
    ...{ session, group, marker: markerIn(text), forks, since },
    isBare: text === '' && isNew,
    isFinal: zombie || kernel || Boolean(text) || !isNew
  };
  if (zombie) {
    // From the next look on it is as good as gone.
    origins.set(pid, { ...origin, session: 0, group: 0 });
    return undefined;
  }
  const hasEnded = text === undefined && !kernel && !processEntry(pid, true);
  if (hasEnded) return undefined;
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
