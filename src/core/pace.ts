/**
 * Has pieces of work done one in a turn of the event loop, in their order, so
 * that many at once make nobody else wait for all of them. The first of a
 * turn goes on at once.
 */
export class Pace {
  readonly #waiting: (() => void)[] = [];
  #isTaken = false;

  /** Settles when it is the caller's turn; undefined when that is now. */
  turn(): Promise<void> | undefined {
    if (this.#isTaken) return this.later();
    this.#take();
    return undefined;
  }

  /** Settles in a turn to come. */
  later(): Promise<void> {
    if (!this.#isTaken) this.#take();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #take(): void {
    this.#isTaken = true;
    setImmediate(() => {
      const next = this.#waiting.shift();
      if (!next) {
        this.#isTaken = false;
        return;
      }
      this.#take();
      next();
    });
  }
}
