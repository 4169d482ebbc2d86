import { setImmediate as nextTurn } from 'node:timers/promises';
import { syncInThread, syncNow } from './atomic-file.ts';

/** Yields each file or directory that has to be on the disk before it goes on. */
export type DurableWork<T> = Generator<string, T>;

/** Does work together with that of other callers. */
export type Together = <T>(work: () => Promise<T>) => Promise<T>;

interface Waiting {
  path: string;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/**
 * Syncs files and directories for many callers at once: those that come in
 * one turn, or while a sync is under way, share one. They go on in the order of their calls.
 */
export class SharedSync {
  #waiting: Waiting[] = [];
  #isUnderWay = false;

  /**
   * Does the work, and lets other callers work while it waits for the disk.
   * @param together begins what follows the first step
   */
  do<T>(work: DurableWork<T>, together: Together = (rest) => rest()) {
    const step = work.next();
    return together(() => this.#rest(step, work));
  }

  async #rest<T>(first: IteratorResult<string, T>, work: DurableWork<T>) {
    let step = first;
    while (!step.done)
      step = await this.sync(step.value).then(
        () => work.next(),
        (error: unknown) => work.throw(error)
      );
    return step.value;
  }

  /**
   * Resolves when a file or a directory is on the disk as it is now.
   * @throws the system's error
   */
  sync(path: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ path, resolve, reject });
      if (!this.#isUnderWay) void this.#syncAll();
    });
  }

  async #syncAll(): Promise<void> {
    this.#isUnderWay = true;
    while (this.#waiting.length > 0) {
      // All that begin in this turn share the sync.
      await nextTurn();
      const round = this.#waiting;
      this.#waiting = [];
      const syncs = new Map<string, Promise<void>>();
      for (const { path } of round)
        if (!syncs.has(path)) syncs.set(path, syncInThread(path));
      await Promise.allSettled(syncs.values());
      for (const { path, resolve, reject } of round)
        syncs.get(path)?.then(resolve, reject);
    }
    this.#isUnderWay = false;
  }
}

/** Does the work at once, and waits for the disk itself. */
export function doNow<T>(work: DurableWork<T>): T {
  let step = work.next();
  while (!step.done) step = afterSync(step.value, work);
  return step.value;
}

function afterSync<T>(path: string, work: DurableWork<T>) {
  try {
    syncNow(path);
  } catch (error) {
    return work.throw(error);
  }
  return work.next();
}
