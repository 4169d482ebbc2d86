/** How long the first look took where another server took it. */
const usualMs = 1000;
/** For the second look, however long the first one took. */
const leastMs = 200;

/**
 * The time that both looks at the files of an agent may take together, so that
 * its run takes at most 5 s longer whatever git waits for, the time to kill
 * git included.
 */
export class LookTime {
  readonly firstMs = 4000;
  readonly #tookMs = new Map<string, number>();

  /** The first look began at this time of `performance.now()`, and is over. */
  note(agentId: string, began: number): void {
    this.#tookMs.set(agentId, performance.now() - began);
  }

  /** Starts the time after the end. @returns how much of it is left */
  start(agentId: string): () => number {
    const tookMs = this.#tookMs.get(agentId) ?? usualMs;
    this.#tookMs.delete(agentId);
    const ends = performance.now() + this.firstMs - tookMs;
    return () => Math.max(leastMs, ends - performance.now());
  }
}
