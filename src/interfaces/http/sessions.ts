import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import type { ServerCapabilities } from '@modelcontextprotocol/sdk/types.js';
import { logProblem } from '../../host/log.ts';
import { Bridge } from '../mcp/modern/bridge.ts';
import {
  type Caller,
  type ClientInfo,
  openCaller
} from '../mcp/modern/caller.ts';
import { ModernError } from '../mcp/modern/revision.ts';
import type { Life } from '../mcp/server/lifecycle.ts';
import type { AnswerTransport } from '../mcp/transport/protocol.ts';
import { HttpTransport, whenOver } from './http-transport.ts';
import { allowsBatches, clientNameIn, type Refusal } from './message.ts';
import { Session } from './session.ts';

interface SessionsOptions {
  life: Life;
  maxSessions: number;
  idleMs: number;
  capabilities: ServerCapabilities;
  serve: (session: Session, transport: AnswerTransport) => Promise<Server>;
}

/** A slot may be freed after this idle time, or half the idle limit if less. */
const maxGraceMs = 60_000;
/** A client that was idle for this time may have left without DELETE. */
const awayMs = 5000;

/** The session of a client that has opened one by `initialize`. */
export class OpenedSession extends Session {
  /** Whether the client's revision of the protocol has batches. */
  readonly hasBatches: boolean;
  readonly #transport: HttpTransport;

  constructor(
    name: string,
    { life, idleMs }: SessionsOptions,
    transport: HttpTransport,
    initialize: unknown
  ) {
    const clientName = clientNameIn(initialize);
    const close = () => transport.close();
    super({ name, clientName, life, idleMs, close });
    this.hasBatches = allowsBatches(initialize);
    this.#transport = transport;
  }

  /** @param body the parsed body, if the request has one */
  handle(
    request: IncomingMessage,
    response: ServerResponse,
    body?: unknown
  ): Promise<Refusal | undefined> {
    whenOver(request, response, this.hold());
    return this.#transport.handle(request, response, body);
  }
}

/**
 * The sessions of one process; each has a protocol server of its own. Clients
 * of revision 2026-07-28 open none: requests that name the same client share
 * one.
 */
export class Sessions {
  readonly #options: SessionsOptions;
  readonly #open = new Map<string, OpenedSession>();
  /** By the name of the client. */
  readonly #callers = new Map<string, Promise<Caller>>();
  /** By name; includes sessions that are still being opened. */
  readonly #named = new Map<string, Session>();
  #count = 0;

  constructor(options: SessionsOptions) {
    this.#options = options;
    options.life.ending.addEventListener('abort', () => {
      for (const session of this.#named.values()) session.endWaits();
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
    return [...this.#named.values()].reduce<Session | undefined>(
      (longest, session) =>
        session.idleForMs > (longest?.idleForMs ?? 0) ? session : longest,
      undefined
    );
  }

  find(id: string): OpenedSession | undefined {
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
    const session = this.#named.get(name);
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
    const session = new OpenedSession(name, this.#options, transport, message);
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

  /**
   * The session of the requests that name this client.
   * @throws ModernError if there is no room for one more
   */
  callerOf(client: ClientInfo): Promise<Caller> {
    const known = this.#callers.get(client.name);
    if (known) return known;
    if (!this.makeRoom()) throw new ModernError(-32603, tooManySessions, 503);
    const opening = this.#openCaller(client);
    this.#callers.set(client.name, opening);
    return opening;
  }

  async #openCaller(client: ClientInfo): Promise<Caller> {
    const { serve, capabilities, ...options } = this.#options;
    this.#count += 1;
    const name = String(this.#count);
    const bridge = new Bridge();
    const session = new Session({
      ...options,
      name,
      clientName: client.name,
      close: () => bridge.close()
    });
    this.#named.set(name, session);
    session.ended.addEventListener('abort', () => {
      this.#named.delete(name);
      this.#callers.delete(client.name);
    });
    const release = session.hold();
    try {
      const start = () => serve(session, bridge);
      const caller = await openCaller(bridge, start, client, capabilities);
      const { ending } = session.life;
      return { ...caller, ending, hold: () => session.hold() };
    } catch (error) {
      await session.end();
      throw error;
    } finally {
      release();
    }
  }

  async close(): Promise<void> {
    const ends = [...this.#named.values()].map((session) => session.end());
    for (const end of await Promise.allSettled(ends))
      if (end.status === 'rejected') logProblem(end.reason);
  }
}

export const tooManySessions =
  'Too many sessions are in use (http.sessions). DELETE ends one; one unused for a minute is ended for a new one.';
