import type { Readable, Writable } from 'node:stream';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  type JSONRPCMessage,
  JSONRPCMessageSchema,
  type RequestId
} from '@modelcontextprotocol/sdk/types.js';
import { log } from '../../../host/log.ts';
import { idOfLong, type Refusal, refusalsOf } from './bad-message.ts';
import { MessageLines } from './message-lines.ts';
import { type AnswerTransport, answeredBy } from './protocol.ts';

const megabyte = 1024 * 1024;
/** The longest accepted message; no tool needs as much. */
const mostMegabytes = 10;
/** The transport stops reading while more than this is unsent. */
const mostUnsentBytes = 16 * megabyte;

/**
 * Transports messages as lines of JSON. Unlike the SDK's transport, it answers
 * an invalid request that has an id, survives a message that is too long, and
 * stops reading while the client does not read.
 */
export class StdioTransport implements AnswerTransport {
  onmessage?: Transport['onmessage'];
  onerror?: Transport['onerror'];
  onclose?: Transport['onclose'];
  readonly #input: Readable;
  readonly #output: Writable;
  readonly #lines = new MessageLines(mostMegabytes * megabyte);
  readonly #callbacks = new Map<RequestId, (() => void)[]>();
  #drained: Promise<void> | undefined;

  constructor(input: Readable, output: Writable) {
    this.#input = input;
    this.#output = output;
  }

  async start(): Promise<void> {
    this.#input.on('data', this.#receive);
    this.#input.on('error', this.#fail);
  }

  /** Resolves when the output accepts more data. */
  async send(message: JSONRPCMessage): Promise<void> {
    const callbacks = this.#takeCallbacks(answeredBy(message));
    const written = (error?: Error | null) => {
      if (!error) for (const work of callbacks) work();
    };
    if (!this.#output.write(`${JSON.stringify(message)}\n`, written))
      await this.#drain();
  }

  afterAnswer(id: RequestId, work: () => void): void {
    this.#callbacks.set(id, [...(this.#callbacks.get(id) ?? []), work]);
  }

  get canNotify(): boolean {
    return true;
  }

  async close(): Promise<void> {
    this.#input.off('data', this.#receive);
    this.#input.off('error', this.#fail);
    this.#input.pause();
    this.onclose?.();
  }

  #takeCallbacks(id: RequestId | undefined): (() => void)[] {
    const callbacks = id === undefined ? undefined : this.#callbacks.get(id);
    if (id !== undefined) this.#callbacks.delete(id);
    return callbacks ?? [];
  }

  /** All senders share one listener. */
  #drain(): Promise<void> {
    if (this.#output.writableLength > mostUnsentBytes) this.#input.pause();
    this.#drained ??= new Promise((resolve) =>
      this.#output.once('drain', () => {
        this.#drained = undefined;
        this.#input.resume();
        resolve();
      })
    );
    return this.#drained;
  }

  readonly #fail = (error: Error) => this.onerror?.(error);

  readonly #receive = (chunk: Buffer) => {
    for (const line of this.#lines.add(chunk))
      if (typeof line !== 'string') this.#refuseLong(idOfLong(line));
      else if (line.trim() !== '') this.#take(line);
  };

  #take(line: string): void {
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch (error) {
      // Without an id, no request can be answered.
      this.onerror?.(new Error('not JSON', { cause: error }));
      return;
    }
    const { data: message } = JSONRPCMessageSchema.safeParse(value);
    if (message) {
      this.onmessage?.(message);
      return;
    }
    for (const refusal of refusalsOf(value)) this.#refuse(refusal);
  }

  #refuseLong(id: RequestId | undefined): void {
    const message = `A message of more than ${mostMegabytes} MB was not read.`;
    log(message);
    if (id !== undefined) this.#refuse({ id, message });
  }

  #refuse({ id, message }: Refusal): void {
    const error = { code: -32600, message };
    void this.send({ jsonrpc: '2.0', id, error });
  }
}
