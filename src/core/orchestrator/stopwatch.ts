/**
 * How long things have looked as they do now, by a clock that never jumps: a
 * look tells what it sees, and hears since when that is so.
 */
export class Stopwatch {
  readonly #seen = new Map<string, { mark: string; since: number }>();

  /** Milliseconds; 0 when it looks other than at the last look. */
  sinceMs(what: string, mark: string): number {
    const seen = this.#seen.get(what);
    const now = performance.now();
    if (seen?.mark === mark) return now - seen.since;
    this.#seen.set(what, { mark, since: now });
    return 0;
  }
}
