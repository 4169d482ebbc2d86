import type {
  JSONRPCMessage,
  JSONRPCRequest,
  RequestId
} from '@modelcontextprotocol/sdk/types.js';
import { logProblem } from '../../../host/log.ts';
import { declaredBy, type ServeOptions, serve } from '../server/server.ts';
import type { AnswerTransport } from '../transport/protocol.ts';
import { Bridge, type Exchange } from './bridge.ts';
import { type Caller, type ClientInfo, openCaller } from './caller.ts';
import { ModernServer } from './modern-server.ts';
import { ModernError } from './revision.ts';

/** The most clients with different names on one connection. */
const mostCallers = 32;

/** The requests of revision 2026-07-28 on stdio. */
export class ModernStdio {
  readonly #wire: AnswerTransport;
  readonly #options: ServeOptions;
  readonly #server: ModernServer;
  readonly #callers = new Map<string, Promise<Caller>>();
  /** Unanswered requests. */
  readonly #open = new Map<RequestId, AbortController>();

  constructor(options: ServeOptions, wire: AnswerTransport) {
    this.#wire = wire;
    this.#options = options;
    this.#server = new ModernServer({
      instructions: options.instructions,
      capabilities: declaredBy(options),
      callerOf: (client) => this.#callerOf(client),
      // Its first call does not wait for this then.
      onDiscover: (client) =>
        setImmediate(() => this.#callerOf(client).catch(() => undefined))
    });
  }

  /** Takes a message of this revision. Its notifications mean nothing. */
  receive(message: JSONRPCMessage): void {
    if (!('method' in message && 'id' in message)) return;
    const { life } = this.#options;
    life.track(this.#handle(message)).catch(logProblem);
  }

  /** @returns false if no unanswered request has this id */
  cancel(id: RequestId): boolean {
    const open = this.#open.get(id);
    open?.abort();
    return open !== undefined;
  }

  async #handle(request: JSONRPCRequest): Promise<void> {
    const { id } = request;
    if (this.#open.has(id)) {
      const message = `The id ${JSON.stringify(id)} belongs to a request that is still unanswered. Use a new id.`;
      const error = { code: -32600, message };
      await this.#wire.send({ jsonrpc: '2.0', id, error });
      return;
    }
    const cancelled = new AbortController();
    this.#open.set(id, cancelled);
    const exchange: Exchange = {
      signal: cancelled.signal,
      notify: async (method, params) => {
        if (!cancelled.signal.aborted)
          await this.#wire.send({ jsonrpc: '2.0', method, params });
      }
    };
    try {
      const reply = await this.#server.handle(request, exchange);
      if (!reply || cancelled.signal.aborted) return;
      for (const work of reply.work) this.#wire.afterAnswer(id, work);
      await this.#wire.send({ jsonrpc: '2.0', id, ...reply.answer });
    } finally {
      this.#open.delete(id);
    }
  }

  async #callerOf(client: ClientInfo): Promise<Caller> {
    const known = this.#callers.get(client.name);
    if (known) return known;
    if (this.#callers.size >= mostCallers)
      throw new ModernError(
        -32603,
        `This connection has served ${mostCallers} clients with different names. Start another server.`
      );
    const opening = this.#openCaller(client);
    this.#callers.set(client.name, opening);
    opening.catch(() => this.#callers.delete(client.name));
    return opening;
  }

  async #openCaller(client: ClientInfo): Promise<Caller> {
    const options = this.#options;
    const bridge = new Bridge();
    const start = () => serve(options, bridge);
    const capabilities = declaredBy(options);
    return {
      ...(await openCaller(bridge, start, client, capabilities)),
      ending: options.life.ending,
      // The clients of a connection end with it.
      hold: () => () => undefined
    };
  }
}
