import type { FileLock } from './file-lock.ts';

interface Waiting<Work> {
  work: Work;
  done: () => void;
  failed: (error: unknown) => void;
}

/**
 * Batches the work of one process under a shared lock. Work that is added while
 * the queue waits for the lock or runs a batch goes into the next batch.
 */
export class LockQueue<Work> {
  readonly #lock: FileLock;
  readonly #prepare: () => void;
  readonly #perform: (batch: Work[]) => void;
  readonly #settle: () => void;
  #waiting: Waiting<Work>[] = [];
  #isBusy = false;

  /**
   * @param prepare called before the lock is acquired
   * @param perform runs a batch under the lock; if it throws, nothing was done
   * @param settle called after the lock is released, before `add` resolves
   */
  constructor(
    lock: FileLock,
    prepare: () => void,
    perform: (batch: Work[]) => void,
    settle: () => void = () => undefined
  ) {
    this.#lock = lock;
    this.#prepare = prepare;
    this.#perform = perform;
    this.#settle = settle;
  }

  /** Resolves when the work is done; rejects with the error of its batch. */
  add(work: Work): Promise<void> {
    return new Promise((done, failed) => {
      this.#waiting.push({ work, done, failed });
      if (!this.#isBusy) void this.#performAll();
    });
  }

  async #performAll(): Promise<void> {
    this.#isBusy = true;
    while (this.#waiting.length > 0) {
      let taken: Waiting<Work>[] = [];
      try {
        this.#prepare();
        await this.#lock.hold(() => {
          taken = this.#waiting;
          this.#waiting = [];
          this.#perform(taken.map(({ work }) => work));
        });
        this.#settle();
        for (const { done } of taken) done();
      } catch (error) {
        // The lock was not acquired, so all waiting work fails.
        const all = taken.length > 0 ? taken : this.#waiting;
        if (taken.length === 0) this.#waiting = [];
        for (const { failed } of all) failed(error);
      }
    }
    this.#isBusy = false;
  }
}
