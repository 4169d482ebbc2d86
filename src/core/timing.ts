import { messageOf } from './errors.ts';

/**
 * Repeats work, with a pause before each round. Rounds never overlap, a round
 * that fails does not end the series, and the timer does not keep the process
 * alive.
 * @param onProblem gets each failure that differs from the one before it
 * @returns a function that ends the series
 */
export function poll(
  pauseMs: number,
  work: () => Promise<void>,
  onProblem: (problem: unknown) => void
): () => void {
  let ended = false;
  let timer: NodeJS.Timeout | undefined;
  let reported = '';
  const report = (problem: unknown) => {
    const message = messageOf(problem);
    if (message !== reported) onProblem(problem);
    reported = message;
  };
  const schedule = () => {
    if (ended) return;
    timer = setTimeout(() => void work().catch(report).then(schedule), pauseMs);
    timer.unref();
  };
  schedule();
  return () => {
    ended = true;
    clearTimeout(timer);
  };
}

/** Calls a function at the earliest of the times that are requested. */
export class EarliestTimer {
  readonly #work: () => void;
  #timer: NodeJS.Timeout | undefined;
  #at = 0;

  /** @param work the timer does not keep the process alive for it */
  constructor(work: () => void) {
    this.#work = work;
  }

  in(milliseconds: number): void {
    const at = performance.now() + milliseconds;
    if (this.#timer && this.#at <= at) return;
    clearTimeout(this.#timer);
    this.#at = at;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#work();
    }, milliseconds).unref();
  }
}

/** A promise's value, or `fallback` after the timeout. The work continues. */
export async function withTimeout<T>(
  work: Promise<T>,
  timeoutMs: number,
  fallback: T
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<T>((resolve) => {
    timer = setTimeout(() => resolve(fallback), timeoutMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Work whose result many callers share, so that they do not repeat it for each
 * of them. A call while the work is being done gets the result of the next
 * round, which begins after the call.
 */
export class SharedRounds<T> {
  readonly #work: () => Promise<T>;
  #now: Promise<T> | undefined;
  #next: Promise<T> | undefined;

  constructor(work: () => Promise<T>) {
    this.#work = work;
  }

  /** Begins a round at once if none is under way. */
  result(): Promise<T> {
    if (!this.#now) return this.#begin();
    const begin = () => this.#begin();
    this.#next ??= this.#now.then(begin, begin);
    return this.#next;
  }

  #begin(): Promise<T> {
    this.#next = undefined;
    const round = this.#work();
    this.#now = round;
    const over = () => {
      if (!this.#next) this.#now = undefined;
    };
    round.then(over, over);
    return round;
  }
}

/** A longer pause between two looks at `awakeMs` counts as this. */
const longestStepMs = 5000;
let awake = 0;
let lookedAt = 0;

/**
 * Milliseconds of a clock that almost stands still while nobody looks at it,
 * for callers that look every few seconds. A machine that sleeps or a container
 * that is paused takes no time from anyone.
 */
export function awakeMs(): number {
  const now = performance.now();
  awake += Math.min(Math.max(now - lookedAt, 0), longestStepMs);
  lookedAt = now;
  return awake;
}

/** How long values stay the same, whatever the clock is set to. */
export class Ages {
  readonly #seen = new Map<string, { value: string; since: number }>();

  /**
   * Milliseconds since `key` was first seen with this value.
   * @param now by `awakeMs`
   */
  of(key: string, value = '', now = awakeMs()): number {
    const seen = this.#seen.get(key);
    if (seen?.value === value) return now - seen.since;
    this.#seen.set(key, { value, since: now });
    return 0;
  }

  forget(key: string): void {
    this.#seen.delete(key);
  }

  /** Forgets all keys but these. */
  keep(keys: { has(key: string): boolean }): void {
    for (const key of this.#seen.keys())
      if (!keys.has(key)) this.#seen.delete(key);
  }
}

/** Work that can wait does not wait longer for every other turn. */
const mostLateMs = 1000;
/** Work that is done together waits this long for other pieces. */
const gatherMs = 50;

/**
 * Limits work to one piece per turn of the event loop, in the order of its
 * arrival, so that a burst leaves time for other work. The first piece of a
 * turn runs at once.
 */
export class Throttle {
  readonly #waiting: (() => void)[] = [];
  readonly #later: Piece[] = [];
  readonly #gathered: Piece[] = [];
  /** Pieces of work that are being done together. */
  #together = 0;
  #isTaken = false;
  #wasLate = false;

  /** Whether any work waits, or is being done together. */
  get isBusy(): boolean {
    const waiting = this.#waiting.length + this.#gathered.length;
    return waiting + this.#later.length + this.#together > 0;
  }

  /** Resolves when it is the caller's turn; undefined when that is now. */
  turn(): Promise<void> | undefined {
    if (this.#isTaken || this.#together > 0)
      return new Promise((resolve) => this.#waiting.push(resolve));
    this.#take();
    return undefined;
  }

  /**
   * Does work together with that of other callers, once no caller waits for a
   * turn, or after 50 ms. No turn begins until all of it is done.
   */
  async together<T>(work: () => Promise<T>): Promise<T> {
    const since = performance.now();
    await new Promise<void>((start) => {
      this.#gathered.push({ since, start });
      if (!this.#isTaken) this.#take();
    });
    try {
      return await work();
    } finally {
      this.#together -= 1;
      if (this.#together === 0 && !this.#isTaken) this.#take();
    }
  }

  /**
   * Resolves in a turn for which no other work waits, or after a second in
   * every other turn or round of gathered work, in the order of the calls;
   * undefined when that is now.
   */
  later(): Promise<void> | undefined {
    if (!this.isBusy) return undefined;
    const since = performance.now();
    return new Promise((start) => this.#later.push({ since, start }));
  }

  #take(): void {
    this.#isTaken = true;
    setImmediate(() => {
      this.#isTaken = false;
      if (this.#together > 0) return;
      const [first] = this.#later;
      this.#wasLate = !this.#wasLate && isOver(first, mostLateMs);
      if (!this.#wasLate && this.#isGathered()) {
        this.#together = this.#gathered.length;
        for (const { start } of this.#gathered.splice(0)) start();
        return;
      }
      const next = this.#next();
      if (!next) return;
      this.#take();
      next();
    });
  }

  #isGathered(): boolean {
    const [first] = this.#gathered;
    if (!first) return false;
    return this.#waiting.length === 0 || isOver(first, gatherMs);
  }

  #next(): (() => void) | undefined {
    const urgent = this.#wasLate ? undefined : this.#waiting.shift();
    return urgent ?? this.#later.shift()?.start;
  }
}

interface Piece {
  since: number;
  start: () => void;
}

function isOver(work: Piece | undefined, limitMs: number): boolean {
  return work !== undefined && performance.now() - work.since > limitMs;
}
