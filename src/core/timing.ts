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

/** Work that can wait does not wait longer for a turn of its own. */
const mostLateMs = 500;

/**
 * Limits work to one piece per turn of the event loop, in the order of its
 * arrival, so that a burst leaves time for other work. The first piece of a
 * turn runs at once.
 */
export class Throttle {
  readonly #waiting: (() => void)[] = [];
  readonly #later: { since: number; start: () => void }[] = [];
  #isTaken = false;
  #held = 0;
  #wasLate = false;

  /** Resolves when it is the caller's turn; undefined when that is now. */
  turn(): Promise<void> | undefined {
    if (this.#isTaken)
      return new Promise((resolve) => this.#waiting.push(resolve));
    this.#take();
    return undefined;
  }

  /** Whether any work waits. */
  get isBusy(): boolean {
    return this.#waiting.length + this.#later.length + this.#held > 0;
  }

  /** Keeps what can wait for as long as a piece of work waits for the disk. */
  async hold<T>(work: Promise<T>): Promise<T> {
    this.#held += 1;
    try {
      return await work;
    } finally {
      this.#held -= 1;
      if (!this.#isTaken) this.#take();
    }
  }

  /**
   * Resolves in a turn for which no other work waits, or after half a second
   * in every other turn, in the order of the calls; undefined when that is now.
   */
  later(): Promise<void> | undefined {
    if (!this.isBusy) return undefined;
    const since = performance.now();
    return new Promise((start) => this.#later.push({ since, start }));
  }

  #take(): void {
    this.#isTaken = true;
    setImmediate(() => {
      const next = this.#next();
      if (!next) {
        this.#isTaken = false;
        return;
      }
      this.#take();
      next();
    });
  }

  #next(): (() => void) | undefined {
    const [first] = this.#later;
    const isLate =
      !this.#wasLate &&
      first !== undefined &&
      performance.now() - first.since > mostLateMs;
    this.#wasLate = isLate;
    const urgent = isLate ? undefined : this.#waiting.shift();
    const isHeld = this.#held > 0 && !isLate;
    return urgent ?? (isHeld ? undefined : this.#later.shift()?.start);
  }
}
