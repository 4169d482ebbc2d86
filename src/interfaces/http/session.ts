import { logProblem } from '../../host/log.ts';
import type { Life } from '../mcp/server/lifecycle.ts';

interface SessionOptions {
  name: string;
  clientName: string | undefined;
  life: Life;
  idleMs: number;
  /** Ends the connection to the client. */
  close: () => Promise<void>;
}

/**
 * What one client does, until DELETE, the idle limit or the shutdown of the
 * server. Waits and subscriptions end with the session; agents keep running.
 */
export class Session {
  /** Unique in this process, and not secret, unlike the session's id. */
  readonly name: string;
  readonly life: Life;
  /** The client's `clientInfo.name`. */
  readonly clientName: string | undefined;
  readonly #close: () => Promise<void>;
  readonly #idleMs: number;
  readonly #ending = new AbortController();
  readonly #ended = new AbortController();
  /** The number of active calls, open requests and open streams. */
  #busy = 0;
  #idleSince = performance.now();
  #timer: NodeJS.Timeout | undefined;

  constructor({ name, clientName, life, idleMs, close }: SessionOptions) {
    this.name = name;
    this.clientName = clientName;
    this.#idleMs = idleMs;
    this.#close = close;
    this.life = {
      ending: this.#ending.signal,
      track: (call) => {
        const release = this.hold();
        call.then(release, release);
        return life.track(call);
      }
    };
  }

  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  /** Milliseconds since the last use; 0 while the session is in use. */
  get idleForMs(): number {
    return this.#busy > 0 ? 0 : performance.now() - this.#idleSince;
  }

  async end(): Promise<void> {
    this.markEnded();
    await this.#close();
  }

  /** Ends long waits; their answers can still be sent. */
  endWaits(): void {
    this.#ending.abort();
  }

  /** Frees the slot of a session whose transport is closed or closing. */
  markEnded(): void {
    clearTimeout(this.#timer);
    this.#ending.abort();
    this.#ended.abort();
  }

  /**
   * Counts one use of the session.
   * @returns a function that ends this use; call it once
   */
  hold(): () => void {
    this.#busy += 1;
    clearTimeout(this.#timer);
    return () => {
      this.#busy -= 1;
      if (this.#busy === 0) this.#startIdleTimer();
    };
  }

  #startIdleTimer(): void {
    if (this.#ended.signal.aborted) return;
    this.#idleSince = performance.now();
    this.#timer = setTimeout(
      () => void this.end().catch(logProblem),
      this.#idleMs
    ).unref();
  }
}
