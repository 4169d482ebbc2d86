import type { Socket } from 'node:net';

interface ConnectionsOptions {
  /** Connections without a valid token that are kept open. */
  mostStrangers: number;
  /** Connections with a valid token that are kept open. */
  mostAdmitted: number;
}

/**
 * The open connections of one server. Programs without the token may open as
 * many as they like: beyond the limit each new connection closes the oldest
 * one without the token. A connection with the token is never closed for
 * another one.
 */
export class Connections {
  readonly #limits: ConnectionsOptions;
  /** In the order of their arrival. */
  readonly #strangers = new Set<Socket>();
  readonly #admitted = new Set<Socket>();

  constructor(limits: ConnectionsOptions) {
    this.#limits = limits;
  }

  /** Counts a new connection. */
  add(socket: Socket): void {
    this.#strangers.add(socket);
    socket.once('close', () => {
      this.#strangers.delete(socket);
      this.#admitted.delete(socket);
    });
    if (this.#strangers.size <= this.#limits.mostStrangers) return;
    const [oldest] = this.#strangers;
    if (oldest) this.#close(oldest);
  }

  /**
   * Notes that a connection has presented the token.
   * @returns false when too many others have
   */
  admit(socket: Socket): boolean {
    if (this.#admitted.has(socket)) return true;
    if (this.#admitted.size >= this.#limits.mostAdmitted) return false;
    if (!this.#strangers.delete(socket)) return true;
    this.#admitted.add(socket);
    return true;
  }

  closeStrangers(): void {
    for (const socket of this.#strangers) this.#close(socket);
  }

  /** Its `close` event comes later, and would count it until then. */
  #close(socket: Socket): void {
    this.#strangers.delete(socket);
    socket.destroy();
  }
}
