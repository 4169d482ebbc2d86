import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { logProblem } from '../../log.ts';
import type { Life } from '../mcp/lifecycle.ts';
import { beginsWithBatches } from './post.ts';
import { Session } from './session.ts';

interface SessionsOptions {
  /** The process's. */
  life: Life;
  most: number;
  idleMs: number;
  /** Serves a new session. */
  serve: (session: Session, transport: Transport) => Promise<Server>;
}

/** So long one that nobody uses is kept though there is no room for more. */
const longestGraceMs = 60_000;

/** The clients of one server process: each has a protocol server of its own. */
export class Sessions {
  readonly #with: SessionsOptions;
  readonly #open = new Map<string, Session>();
  /** Their names, also of those whose client has yet to be answered. */
  readonly #names = new Set<string>();
  #count = 0;

  constructor(options: SessionsOptions) {
    this.#with = options;
    options.life.ending.addEventListener('abort', () => {
      for (const session of this.#open.values()) session.letGo();
    });
  }

  /**
   * Makes room for one more, if need be: many clients leave without a word,
   * and theirs is not to keep others out for long.
   */
  hasRoom(): boolean {
    if (this.#names.size < this.#with.most) return true;
    const longest = this.#longestIdle();
    if (!longest || longest.idleForMs < this.#graceMs) return false;
    // Its place is free at once.
    longest.end().catch(logProblem);
    return true;
  }

  /** Seconds until one may make room, if its client stays away. */
  get retrySeconds(): number {
    const idleFor = this.#longestIdle()?.idleForMs ?? 0;
    return Math.max(1, Math.ceil((this.#graceMs - idleFor) / 1000));
  }

  get #graceMs(): number {
    return Math.min(longestGraceMs, this.#with.idleMs / 2);
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

  /** By the name that the council knows. */
  isThere(name: string): boolean {
    return this.#names.has(name);
  }

  /** Answers `initialize`; there is a session when that went well. */
  async open(
    request: IncomingMessage,
    response: ServerResponse,
    message: unknown
  ): Promise<void> {
    const { life, idleMs, serve } = this.#with;
    this.#count += 1;
    const name = String(this.#count);
    const id = randomUUID();
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => id,
      onsessioninitialized: () => void this.#open.set(id, session)
    });
    const hasBatches = beginsWithBatches(message);
    const session = new Session({
      name,
      life,
      idleMs,
      transport,
      hasBatches
    });
    this.#names.add(name);
    session.ended.addEventListener('abort', () => {
      this.#names.delete(name);
      this.#open.delete(id);
    });
    try {
      const server = await serve(session, transport);
      server.onclose = () => session.leave();
      await session.handle(request, response, message);
    } finally {
      // Refused: what it sent was no initialize after all.
      if (!this.#open.has(id)) await session.end();
    }
  }

  async close(): Promise<void> {
    const ends = [...this.#open.values()].map((session) => session.end());
    for (const end of await Promise.allSettled(ends))
      if (end.status === 'rejected') logProblem(end.reason);
  }
}
