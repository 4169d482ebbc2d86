import type { Readable, Writable } from 'node:stream';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  type JSONRPCMessage,
  JSONRPCMessageSchema,
  type RequestId
} from '@modelcontextprotocol/sdk/types.js';
import { log } from '../../log.ts';
import { idOfLong, refusalsOf } from './bad-message.ts';
import { MessageLines } from './message-lines.ts';

const megabyte = 1024 * 1024;
/** A longer message is refused: no tool takes as much. */
const mostMegabytes = 10;
/** So much may wait for a client that does not read, or a little more. */
const mostUnsentBytes = 16 * megabyte;

/**
 * Messages as lines of JSON. Unlike the SDK's own, it answers a request that
 * is none as MCP has it, where it has an id; lives on after a message that is
 * too long; and reads nothing more while its client does not read.
 */
export class StdioTransport implements Transport {
  onmessage?: Transport['onmessage'];
  onerror?: Transport['onerror'];
  onclose?: Transport['onclose'];
  readonly #input: Readable;
  readonly #output: Writable;
  readonly #lines = new MessageLines(mostMegabytes * megabyte);
  #drained: Promise<void> | undefined;

  constructor(input: Readable, output: Writable) {
    this.#input = input;
    this.#output = output;
  }

  async start(): Promise<void> {
    this.#input.on('data', this.#receive);
    this.#input.on('error', this.#fail);
  }

  /** Settles when there is room for more. */
  async send(message: JSONRPCMessage): Promise<void> {
    if (!this.#output.write(`${JSON.stringify(message)}\n`))
      await this.#drain();
  }

  async close(): Promise<void> {
    this.#input.off('data', this.#receive);
    this.#input.off('error', this.#fail);
    this.#input.pause();
    this.onclose?.();
  }

  /** One listener for all who wait. */
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
      // Nobody can say which request that was.
      this.onerror?.(new Error('not JSON', { cause: error }));
      return;
    }
    const { data: message } = JSONRPCMessageSchema.safeParse(value);
    if (message) {
      this.onmessage?.(message);
      return;
    }
    for (const { id, why } of refusalsOf(value)) this.#refuse(id, why);
  }

  #refuseLong(id: RequestId | undefined): void {
    const text = `A message of more than ${mostMegabytes} MB was not read.`;
    log(text);
    if (id !== undefined) this.#refuse(id, text);
  }

  #refuse(id: RequestId, message: string): void {
    const error = { code: -32600, message };
    void this.send({ jsonrpc: '2.0', id, error });
  }
}
