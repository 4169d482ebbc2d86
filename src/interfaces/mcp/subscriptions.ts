import { Watch } from './watch.ts';

/** A change is wanted soon, whichever process has made it. */
const pauseMs = 40;

/** What a client follows. */
export class Subscriptions {
  readonly #tell: (uri: string) => Promise<void>;
  readonly #watch = new Watch(pauseMs);
  /** By the file that they show: it is the same with `tail` and without. */
  readonly #uris = new Map<string, Set<string>>();

  constructor(tell: (uri: string) => Promise<void>) {
    this.#tell = tell;
  }

  /**
   * @param key what it shows, whatever part of it
   * @param stamp changes with that
   */
  add(key: string, uri: string, stamp: () => string): void {
    const uris = this.#uris.get(key) ?? new Set();
    this.#uris.set(key, uris.add(uri));
    const tell = () => Promise.all([...uris].map(this.#tell));
    this.#watch.add(key, { stamp, tell });
  }

  remove(key: string, uri: string): void {
    const uris = this.#uris.get(key);
    uris?.delete(uri);
    if (uris?.size !== 0) return;
    this.#uris.delete(key);
    this.#watch.remove(key);
  }

  end(): void {
    this.#uris.clear();
    this.#watch.end();
  }
}
