import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type {
  JSONRPCErrorResponse,
  JSONRPCMessage,
  JSONRPCResultResponse,
  RequestId
} from '@modelcontextprotocol/sdk/types.js';
import {
  type AnswerTransport,
  answeredBy,
  type RequestInput
} from '../transport/protocol.ts';

export type Params = Record<string, unknown>;

/** One request of a client, on its own transport. */
export interface Exchange {
  /** Aborted when the client cancels the request. */
  signal: AbortSignal;
  /** Sends a notification that belongs to the request. */
  notify: (method: string, params: Params) => Promise<void>;
}

/** The answer to a request, without its id. */
export type Answer = Pick<JSONRPCResultResponse, 'result'> | AnswerError;

export type AnswerError = Pick<JSONRPCErrorResponse, 'error'>;

export interface Bridged {
  answer: Answer;
  /** Work for the time after the answer has been written. */
  work: (() => void)[];
}

interface Pending {
  exchange: Exchange;
  input: RequestInput | undefined;
  /** The client's token; the server gets the id of the request instead. */
  progressToken: unknown;
  work: (() => void)[];
  settle: (bridged: Bridged | undefined) => void;
}

/**
 * The transport of a server of an older revision, whose requests come from
 * this process: so all revisions share the tools, prompts and resources.
 */
export class Bridge implements AnswerTransport {
  onmessage?: Transport['onmessage'];
  onerror?: Transport['onerror'];
  onclose?: Transport['onclose'];
  /** Gets notifications that belong to no request. */
  onchange?: (method: string, params: Params) => void;
  /** Whether the server may notify of changes: a client listens. */
  canNotify = false;
  readonly #pending = new Map<RequestId, Pending>();
  #count = 0;

  async start(): Promise<void> {}

  async close(): Promise<void> {
    for (const { settle } of this.#pending.values()) settle(undefined);
    this.#pending.clear();
    this.onclose?.();
  }

  /** Greets the server, as a client of an older revision has to. */
  async initialize(clientInfo: { name: string; version: string }) {
    const params = {
      protocolVersion: '2025-11-25',
      // The server cannot ask such a client for anything.
      capabilities: {},
      clientInfo
    };
    await this.request('initialize', params);
    const method = 'notifications/initialized';
    this.onmessage?.({ jsonrpc: '2.0', method });
  }

  /** @returns undefined if the request was canceled */
  request(
    method: string,
    params: Params = {},
    exchange: Exchange = unattended,
    input?: RequestInput
  ): Promise<Bridged | undefined> {
    this.#count += 1;
    const id = this.#count;
    const { progressToken, ...meta } = Object(params._meta);
    const hasToken = progressToken !== undefined;
    const _meta = hasToken ? { ...meta, progressToken: id } : meta;
    return new Promise((resolve) => {
      const cancel = () => {
        if (!this.#pending.has(id)) return;
        const cancelled = { requestId: id };
        this.onmessage?.(notificationOf('notifications/cancelled', cancelled));
        settle(undefined);
      };
      const settle = (bridged: Bridged | undefined) => {
        this.#pending.delete(id);
        exchange.signal.removeEventListener('abort', cancel);
        resolve(bridged);
      };
      const work: Pending['work'] = [];
      this.#pending.set(id, { exchange, input, progressToken, work, settle });
      this.onmessage?.({
        jsonrpc: '2.0',
        id,
        method,
        params: { ...params, _meta }
      });
      exchange.signal.addEventListener('abort', cancel);
      if (exchange.signal.aborted) cancel();
    });
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const id = answeredBy(message);
    if (id !== undefined) this.#answer(id, message);
    else if ('method' in message && 'id' in message) this.#refuse(message.id);
    else if ('method' in message)
      await this.#notify(message.method, message.params ?? {});
  }

  afterAnswer(id: RequestId, work: () => void): void {
    this.#pending.get(id)?.work.push(work);
  }

  inputOf(id: RequestId): RequestInput | undefined {
    return this.#pending.get(id)?.input;
  }

  #answer(id: RequestId, message: JSONRPCMessage): void {
    const pending = this.#pending.get(id);
    if (!pending) return;
    const { work, settle } = pending;
    if ('result' in message)
      settle({ answer: { result: message.result }, work });
    else if ('error' in message)
      settle({ answer: { error: message.error }, work });
  }

  /** The server asks the client, which this revision does not have. */
  #refuse(id: RequestId): void {
    const error = { code: -32601, message: 'Method not found' };
    this.onmessage?.({ jsonrpc: '2.0', id, error });
  }

  async #notify(method: string, params: Params): Promise<void> {
    if (method !== 'notifications/progress') {
      this.onchange?.(method, params);
      return;
    }
    const { progressToken: id } = params;
    const pending = typeof id === 'number' ? this.#pending.get(id) : undefined;
    if (!pending) return;
    const { exchange, progressToken } = pending;
    await exchange.notify(method, { ...params, progressToken });
  }
}

function notificationOf(method: string, params: Params): JSONRPCMessage {
  return { jsonrpc: '2.0', method, params };
}

/** For requests of the bridge itself. */
const unattended: Exchange = {
  signal: new AbortController().signal,
  notify: async () => undefined
};
