/** A time limit for work, which becomes shorter when the process ends. */
export class TimeLimit {
  readonly #running = new Set<AbortController>();
  #most = Number.POSITIVE_INFINITY;

  /**
   * Runs work with a time limit.
   * @throws Passed when the time is up, the reason of `cancelSignal` when it is
   *   aborted, or the error of the work
   */
  async within<T>(
    milliseconds: number,
    work: (signal: AbortSignal) => Promise<T>,
    cancelSignal?: AbortSignal
  ): Promise<T> {
    cancelSignal?.throwIfAborted();
    const controller = new AbortController();
    const stop = () => controller.abort(cancelSignal?.reason);
    cancelSignal?.addEventListener('abort', stop, { once: true });
    const allowed = Math.min(milliseconds, this.#most);
    const timer = abortAfter(controller, allowed);
    this.#running.add(controller);
    try {
      return await Promise.race([
        work(controller.signal),
        afterAbort(controller.signal)
      ]);
    } catch (error) {
      const { aborted, reason } = controller.signal;
      throw aborted ? reason : error;
    } finally {
      clearTimeout(timer);
      cancelSignal?.removeEventListener('abort', stop);
      this.#running.delete(controller);
    }
  }

  /** Limits current and future work to this time from now on. */
  shorten(milliseconds: number): void {
    this.#most = milliseconds;
    for (const controller of this.#running)
      abortAfter(controller, milliseconds).unref();
  }

  /** Whether this process is ending. */
  get isShortened(): boolean {
    return this.#most !== Number.POSITIVE_INFINITY;
  }

  static isPassed(error: unknown): boolean {
    return error instanceof Passed;
  }
}

/**
 * After an abort, `within` waits this long for the work to end, and then throws
 * anyway: a file system that does not respond may block the work.
 */
const graceMs = 800;

function afterAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const giveUp = () => reject(signal.reason);
    const wait = () => setTimeout(giveUp, graceMs).unref();
    signal.addEventListener('abort', wait, { once: true });
  });
}

class Passed extends Error {}

/** If a timer fires this late, the process was paused. */
const pausedMs = 2000;

/** A paused process does not see what has ended, so the time starts again. */
function abortAfter(
  controller: AbortController,
  milliseconds: number
): NodeJS.Timeout {
  let due = performance.now() + milliseconds;
  const timer = setTimeout(() => {
    const now = performance.now();
    if (now - due > pausedMs) {
      due = now + milliseconds;
      timer.refresh();
      return;
    }
    const seconds = Math.round(milliseconds / 100) / 10;
    controller.abort(new Passed(`git did not finish within ${seconds} s`));
  }, milliseconds);
  return timer;
}

/** The assumed duration of a snapshot that another server took. */
const usualMs = 1000;
/** The least time for the comparison, however long the snapshot took. */
const leastMs = 200;

/**
 * The time that the snapshot and the comparison of an agent may take together,
 * so that its run takes at most 5 s longer, including the time to kill git.
 */
export class ComparisonTime {
  readonly snapshotMs = 4000;
  readonly #tookMs = new Map<string, number>();

  /** @param began when the snapshot started, by `performance.now()` */
  noteSnapshot(agentId: string, began: number): void {
    const tookMs = performance.now() - began;
    // A longer one was paused with this process.
    if (tookMs <= this.snapshotMs) this.#tookMs.set(agentId, tookMs);
  }

  /** Called at the agent's end. @returns a function for the ms that are left */
  start(agentId: string): () => number {
    const tookMs = this.#tookMs.get(agentId) ?? usualMs;
    this.#tookMs.delete(agentId);
    const ends = performance.now() + this.snapshotMs - tookMs;
    return () => Math.max(leastMs, ends - performance.now());
  }
}
