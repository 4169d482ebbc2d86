/** Lets work take so long and no longer, less when we are about to end. */
export class TimeLimit {
  readonly #running = new Set<AbortController>();
  #most = Number.POSITIVE_INFINITY;

  /** @throws Passed when the time was up, else what the work throws */
  async within<T>(
    milliseconds: number,
    work: (signal: AbortSignal) => Promise<T>,
    unwanted?: AbortSignal
  ): Promise<T> {
    unwanted?.throwIfAborted();
    const controller = new AbortController();
    const stop = () => controller.abort(unwanted?.reason);
    unwanted?.addEventListener('abort', stop, { once: true });
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
      unwanted?.removeEventListener('abort', stop);
      this.#running.delete(controller);
    }
  }

  /** What runs now, and what will, gets at most this long from here on. */
  shorten(milliseconds: number): void {
    this.#most = milliseconds;
    for (const controller of this.#running)
      abortAfter(controller, milliseconds).unref();
  }

  static isPassed(error: unknown): boolean {
    return error instanceof Passed;
  }
}

/**
 * Work that was stopped has ended when this throws, unless it cannot: a file
 * system that does not answer holds a thread, which nothing can stop.
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

function abortAfter(
  controller: AbortController,
  milliseconds: number
): NodeJS.Timeout {
  return setTimeout(() => {
    const seconds = Math.round(milliseconds / 100) / 10;
    controller.abort(new Passed(`git was not done within ${seconds} s`));
  }, milliseconds);
}
