import type { Socket } from 'node:net';

interface ConnectionsOptions {
  /**
   * The limit of connections without the token. Twice as many may be open
   * while the oldest one is younger than `graceMs`.
   */
  maxUnauthenticated: number;
  /** The limit of connections with the token. */
  maxAuthenticated: number;
}

/** A new connection has this long to present the token. */
const graceMs = 1000;

/**
 * The open connections of one server. Above the limit, a new connection closes
 * the oldest one without the token. Connections with the token are never
 * closed for a new one.
 */
export class Connections {
  readonly #limits: ConnectionsOptions;
  /** When each connection was opened, by `performance.now()`; oldest first. */
  readonly #unauthenticated = new Map<Socket, number>();
  readonly #authenticated = new Set<Socket>();

  constructor(limits: ConnectionsOptions) {
    this.#limits = limits;
  }

  add(socket: Socket): void {
    const now = performance.now();
    this.#unauthenticated.set(socket, now);
    socket.once('close', () => {
      this.#unauthenticated.delete(socket);
      this.#authenticated.delete(socket);
    });
    const [[oldest, since] = [socket, now]] = this.#unauthenticated;
    if (this.#isTooMany(now - since)) this.#close(oldest);
  }

  /**
   * Records that a connection has presented the token.
   * @returns false if too many connections with the token are open
   */
  admit(socket: Socket): boolean {
    if (this.#authenticated.has(socket)) return true;
    if (this.#authenticated.size >= this.#limits.maxAuthenticated) return false;
    if (this.#unauthenticated.delete(socket)) this.#authenticated.add(socket);
    return true;
  }

  closeUnauthenticated(): void {
    for (const socket of this.#unauthenticated.keys()) this.#close(socket);
  }

  #isTooMany(ageMs: number): boolean {
    const most = this.#limits.maxUnauthenticated;
    const { size } = this.#unauthenticated;
    return size > 2 * most || (size > most && ageMs > graceMs);
  }

  /** Stops counting the connection at once: its `close` event comes later. */
  #close(socket: Socket): void {
    this.#unauthenticated.delete(socket);
    socket.destroy();
  }
}
