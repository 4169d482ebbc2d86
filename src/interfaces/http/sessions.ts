import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { logProblem } from '../../host/log.ts';
import type { Life } from '../mcp/server/lifecycle.ts';
import type { AnswerTransport } from '../mcp/transport/protocol.ts';
import { HttpTransport, whenOver } from './http-transport.ts';
import { allowsBatches, clientNameIn, type Refusal } from './message.ts';

interface SessionsOptions {
  life: Life;
  maxSessions: number;
  idleMs: number;
  serve: (session: Session, transport: AnswerTransport) => Promise<Server>;
}

/** A slot may be freed after this idle time, or half the idle limit if less. */
const maxGraceMs = 60_000;
/** A client that was idle for this time may have left without DELETE. */
const awayMs = 5000;

/** The sessions of one process; each has a protocol server of its own. */
export class Sessions {
  readonly #options: SessionsOptions;
  readonly #open = new Map<string, Session>();
  /** By name; includes sessions that are still being opened. */
  readonly #named = new Map<string, Session>();
  #count = 0;

  constructor(options: SessionsOptions) {
    this.#options = options;
    options.life.ending.addEventListener('abort', () => {
      for (const session of this.#open.values()) session.endWaits();
    });
  }

  /**
   * Ensures that one more session can open. If all slots are taken, ends the
   * session that was idle longest: many clients leave without DELETE.
   * @returns false if no session has been idle long enough
   */
  makeRoom(): boolean {
    if (this.#named.size < this.#options.maxSessions) return true;
    const longest = this.#longestIdle();
    if (!longest || longest.idleForMs < this.#graceMs) return false;
    // Frees the slot synchronously; the transport closes in the background.
    longest.end().catch(logProblem);
    return true;
  }

  /** Seconds until `makeRoom` may end an idle session, at least 1. */
  get retrySeconds(): number {
    const idleFor = this.#longestIdle()?.idleForMs ?? 0;
    return Math.max(1, Math.ceil((this.#graceMs - idleFor) / 1000));
  }

  get #graceMs(): number {
    return Math.min(maxGraceMs, this.#options.idleMs / 2);
  }

  #longestIdle(): Session | undefined {
    return [...this.#open.values()].reduce<Session | undefined>(
      (longest, session) =>
        session.idleForMs > (longest?.idleForMs ?? 0) ? session : longest,
      undefined
    );
  }

  find(id: string): Session | undefined {
    return this.#open.get(id);
  }

  /**
   * Whether a session keeps its council names when another session asks for
   * one of them. Both may belong to the same client, after a reconnect.
   */
  keepsNames(name: string, asking: Session): boolean {
    const session = this.#named.get(name);
    if (!session) return false;
    const mayBeSameClient = session.clientName === asking.clientName;
    return !mayBeSameClient || session.idleForMs < awayMs;
  }

  /** Whether the client of a session was active within the last `#graceMs`. */
  hasClient(name: string): boolean {
    const session = [...this.#open.values()].find((one) => one.name === name);
    return session !== undefined && session.idleForMs < this.#graceMs;
  }

  /** Answers `initialize`, and opens a session if it succeeds. */
  async open(
    request: IncomingMessage,
    response: ServerResponse,
    message: unknown
  ): Promise<void> {
    this.#count += 1;
    const name = String(this.#count);
    const id = randomUUID();
    const transport = new HttpTransport(
      id,
      () => void this.#open.set(id, session)
    );
    const session = new Session(name, this.#options, transport, message);
    this.#named.set(name, session);
    session.ended.addEventListener('abort', () => {
      this.#named.delete(name);
      this.#open.delete(id);
    });
    try {
      const server = await this.#options.serve(session, transport);
      server.onclose = () => session.markEnded();
      await session.handle(request, response, message);
    } finally {
      if (!this.#open.has(id)) await session.end();
    }
  }

  async close(): Promise<void> {
    const ends = [...this.#open.values()].map((session) => session.end());
    for (const end of await Promise.allSettled(ends))
      if (end.status === 'rejected') logProblem(end.reason);
  }
}

/**
 * The session of one client, from `initialize` until DELETE, the idle limit or
 * the shutdown of the server. Waits and subscriptions end with the session;
 * agents keep running.
 */
export class Session {
  /** Unique in this process, and not secret, unlike the session's id. */
  readonly name: string;
  readonly life: Life;
  /** Whether the client's revision of the protocol has batches. */
  readonly hasBatches: boolean;
  /** The client's `clientInfo.name`. */
  readonly clientName: string | undefined;
  readonly #transport: HttpTransport;
  readonly #idleMs: number;
  readonly #ending = new AbortController();
  readonly #ended = new AbortController();
  /** The number of active calls, open requests and open streams. */
  #busy = 0;
  #idleSince = performance.now();
  #timer: NodeJS.Timeout | undefined;

  constructor(
    name: string,
    { life, idleMs }: SessionsOptions,
    transport: HttpTransport,
    initialize: unknown
  ) {
    this.name = name;
    this.hasBatches = allowsBatches(initialize);
    this.clientName = clientNameIn(initialize);
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

  /** Milliseconds since the last use; 0 while the session is in use. */
  get idleForMs(): number {
    return this.#busy > 0 ? 0 : performance.now() - this.#idleSince;
  }

  /** @param body the parsed body, if the request has one */
  handle(
    request: IncomingMessage,
    response: ServerResponse,
    body?: unknown
  ): Promise<Refusal | undefined> {
    whenOver(request, response, this.#hold());
    return this.#transport.handle(request, response, body);
  }

  async end(): Promise<void> {
    this.markEnded();
    await this.#transport.close();
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
  #hold(): () => void {
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
