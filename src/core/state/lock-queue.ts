import type { FileLock } from './file-lock.ts';

interface Waiting<Work> {
  work: Work;
  done: () => void;
  failed: (error: unknown) => void;
}

/**
 * Work of one process under a lock that processes share. What comes while it
 * waits for the lock, or works, is done in one holding of it.
 */
export class LockQueue<Work> {
  readonly #lock: FileLock;
  readonly #prepare: () => void;
  readonly #perform: (works: Work[]) => void;
  readonly #settle: () => void;
  #waiting: Waiting<Work>[] = [];
  #isBusy = false;

  /**
   * @param prepare before the lock is asked for
   * @param perform does all of it, or throws and has done nothing
   * @param settle what remains to be done before anybody is told that it is
   *   done, and needs no lock
   */
  constructor(
    lock: FileLock,
    prepare: () => void,
    perform: (works: Work[]) => void,
    settle: () => void = () => undefined
  ) {
    this.#lock = lock;
    this.#prepare = prepare;
    this.#perform = perform;
    this.#settle = settle;
  }

  /** Settles when it is done, with what `perform` or the lock has thrown. */
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
        // Nobody got the lock: all who wait for it are told.
        const all = taken.length > 0 ? taken : this.#waiting;
        if (taken.length === 0) this.#waiting = [];
        for (const { failed } of all) failed(error);
      }
    }
    this.#isBusy = false;
  }
}
