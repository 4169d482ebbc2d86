import type { IncomingMessage, ServerResponse } from 'node:http';
import type { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { logProblem } from '../../log.ts';
import type { Life } from '../mcp/lifecycle.ts';

interface SessionOptions {
  name: string;
  life: Life;
  idleMs: number;
  transport: StreamableHTTPServerTransport;
  hasBatches: boolean;
}

/**
 * One client, from its initialize until it says DELETE, stays away for too
 * long, or the server ends. Its waits and subscriptions end with it, and
 * agents do not.
 */
export class Session {
  /** Unique in this process, and no secret, as the session's id is. */
  readonly name: string;
  readonly life: Life;
  /** Whether its revision of the protocol has batches. */
  readonly hasBatches: boolean;
  readonly #transport: StreamableHTTPServerTransport;
  readonly #idleMs: number;
  readonly #ending = new AbortController();
  readonly #ended = new AbortController();
  /** Calls under way, and requests and streams that are open. */
  #busy = 0;
  #idleSince = performance.now();
  #timer: NodeJS.Timeout | undefined;

  constructor({ name, life, idleMs, transport, hasBatches }: SessionOptions) {
    this.name = name;
    this.hasBatches = hasBatches;
    this.#idleMs = idleMs;
    this.#transport = transport;
    this.life = {
      ending: this.#ending.signal,
      track: (call) => {
        const release = this.#hold();
        call.then(release, release);
        return life.track(call);
      }
    };
  }

  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  /** How long nobody has used it; 0 while somebody does. */
  get idleForMs(): number {
    return this.#busy > 0 ? 0 : performance.now() - this.#idleSince;
  }

  /** Takes up a request, whose body has been read if it has one. */
  async handle(
    request: IncomingMessage,
    response: ServerResponse,
    body?: unknown
  ): Promise<void> {
    this.#holdDuring(request, response);
    await this.#transport.handleRequest(request, response, body);
  }

  async end(): Promise<void> {
    this.leave();
    await this.#transport.close();
  }

  /** Long waits let go; what they answer can still be sent. */
  letGo(): void {
    this.#ending.abort();
  }

  /** Its transport is closed, or about to be. */
  leave(): void {
    clearTimeout(this.#timer);
    this.#ending.abort();
    this.#ended.abort();
  }

  /** An answer behind others of its connection does not tell of its end. */
  #holdDuring({ socket }: IncomingMessage, response: ServerResponse): void {
    const release = this.#hold();
    const over = () => {
      socket.off('close', over);
      response.off('close', over);
      release();
    };
    // As many requests as a client likes may be on their way at once.
    socket.setMaxListeners(0).once('close', over);
    response.once('close', over);
    if (socket.destroyed) over();
  }

  /** @returns lets go again, once */
  #hold(): () => void {
    let held = true;
    this.#busy += 1;
    clearTimeout(this.#timer);
    return () => {
      if (!held) return;
      held = false;
      this.#busy -= 1;
      if (this.#busy === 0) this.#rest();
    };
  }

  #rest(): void {
    if (this.#ended.signal.aborted) return;
    this.#idleSince = performance.now();
    this.#timer = setTimeout(
      () => void this.end().catch(logProblem),
      this.#idleMs
    ).unref();
  }
}
