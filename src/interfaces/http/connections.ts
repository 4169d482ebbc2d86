import type { Socket } from 'node:net';

interface ConnectionsOptions {
  /** Connections without the token; young ones may be twice as many. */
  mostStrangers: number;
  /** Connections with the token that are kept open. */
  mostAdmitted: number;
}

/** A client has this long to present the token before it gives way. */
const youngMs = 1000;

/**
 * The open connections of one server. Programs without the token may open as
 * many as they like: beyond the limit each new connection closes the oldest
 * one without the token. A connection with the token is never closed for
 * another one.
 */
export class Connections {
  readonly #limits: ConnectionsOptions;
  /** When each one arrived, in that order. */
  readonly #strangers = new Map<Socket, number>();
  readonly #admitted = new Set<Socket>();

  constructor(limits: ConnectionsOptions) {
    this.#limits = limits;
  }

  /** Counts a new connection. */
  add(socket: Socket): void {
    const now = performance.now();
    this.#strangers.set(socket, now);
    socket.once('close', () => {
      this.#strangers.delete(socket);
      this.#admitted.delete(socket);
    });
    const [[oldest, since] = [socket, now]] = this.#strangers;
    if (this.#isTooMany(now - since)) this.#close(oldest);
  }

  /**
   * Notes that a connection has presented the token.
   * @returns false when too many others have
   */
  admit(socket: Socket): boolean {
    if (this.#admitted.has(socket)) return true;
    if (this.#admitted.size >= this.#limits.mostAdmitted) return false;
    if (this.#strangers.delete(socket)) this.#admitted.add(socket);
    return true;
  }

  closeStrangers(): void {
    for (const socket of this.#strangers.keys()) this.#close(socket);
  }

  #isTooMany(ageMs: number): boolean {
    const most = this.#limits.mostStrangers;
    const { size } = this.#strangers;
    return size > 2 * most || (size > most && ageMs > youngMs);
  }

  /** Its `close` event comes later, and would count it until then. */
  #close(socket: Socket): void {
    this.#strangers.delete(socket);
    socket.destroy();
  }
}
