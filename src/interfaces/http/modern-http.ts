import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  JSONRPCMessageSchema,
  type JSONRPCRequest,
  JSONRPCRequestSchema,
  type ServerCapabilities
} from '@modelcontextprotocol/sdk/types.js';
import type { Exchange, Params } from '../mcp/modern/bridge.ts';
import { ModernServer, type Reply } from '../mcp/modern/modern-server.ts';
import { isModern, modernRevision } from '../mcp/modern/revision.ts';
import type { AddedTool } from '../mcp/server/additions.ts';
import type { Life } from '../mcp/server/lifecycle.ts';
import { refusalsOf } from '../mcp/transport/bad-message.ts';
import { whenOver } from './http-transport.ts';
import { type Refusal, refusal } from './message.ts';
import { mismatchOf } from './mirrored-headers.ts';
import type { Sessions } from './sessions.ts';

interface ModernHttpOptions {
  instructions: string;
  capabilities: ServerCapabilities;
  sessions: Sessions;
  life: Life;
  /** Tools whose schemas may name headers. */
  tools: AddedTool[];
}

/** A comment keeps a quiet connection open at this interval. */
const keepAliveMs = 15_000;

/** Whether a POST is of revision 2026-07-28. Its body decides, if it can. */
export function isForModern(
  { headers }: IncomingMessage,
  body: unknown
): boolean {
  const { data } = JSONRPCMessageSchema.safeParse(body);
  if (data && isModern(data)) return true;
  return (
    headers['mcp-protocol-version'] === modernRevision &&
    !(data && 'method' in data && data.method === 'initialize')
  );
}

/** Answers the requests of revision 2026-07-28; each POST stands alone. */
export class ModernHttp {
  readonly #options: ModernHttpOptions;
  readonly #server: ModernServer;

  constructor(options: ModernHttpOptions) {
    const { instructions, capabilities, sessions } = options;
    this.#options = options;
    this.#server = new ModernServer({
      instructions,
      capabilities,
      callerOf: (client) => sessions.callerOf(client)
    });
  }

  async handle(
    request: IncomingMessage,
    response: ServerResponse,
    body: unknown
  ): Promise<Refusal | undefined> {
    const { life, sessions, tools } = this.#options;
    const { data: message } = JSONRPCMessageSchema.safeParse(body);
    if (message && 'method' in message && !('id' in message)) {
      // A client cancels by closing the connection.
      response.writeHead(202).end();
      return undefined;
    }
    const { data: asked } = JSONRPCRequestSchema.safeParse(body);
    if (!asked) return malformed(body);
    const { id } = asked;
    const wrong = mismatchOf(request.headers, asked, tools);
    if (wrong)
      return { ...refusal(400, `Header mismatch: ${wrong}`, {}, -32020), id };
    const { accept = '' } = request.headers;
    if (!accepted.every((type) => accept.includes(type)))
      return { ...notAcceptable, id };
    const exchange = new HttpExchange(request, response, asked);
    const reply = await life
      .track(this.#server.handle(asked, exchange))
      .finally(() => exchange.stop());
    if (reply?.status === 503)
      response.setHeader('Retry-After', String(sessions.retrySeconds));
    exchange.finish(reply);
    return undefined;
  }
}

const accepted = ['application/json', 'text/event-stream'];

const notAcceptable = refusal(
  406,
  `Not Acceptable: accept ${accepted.join(' and ')}.`
);

function malformed(body: unknown): Refusal {
  const [first] = refusalsOf(body);
  const { id, message = 'Invalid Request: send one request.' } = first ?? {};
  const refused = refusal(400, message, {}, -32600);
  return id === undefined ? refused : { ...refused, id };
}

/**
 * One POST and its response: a JSON object, or a stream of events from the
 * first notification or the first quiet 15 seconds on.
 */
class HttpExchange implements Exchange {
  readonly #response: ServerResponse;
  readonly #request: JSONRPCRequest;
  readonly #cancelled = new AbortController();
  readonly #keepAlive: NodeJS.Timeout;
  #work: Reply['work'] = [];

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    message: JSONRPCRequest
  ) {
    this.#response = response;
    this.#request = message;
    whenOver(request, response, (wasSent) => {
      if (wasSent) for (const work of this.#work) work();
      else this.#cancelled.abort();
    });
    this.#keepAlive = setInterval(
      () => void this.#write(': keep-alive\n\n'),
      keepAliveMs
    ).unref();
  }

  get signal(): AbortSignal {
    return this.#cancelled.signal;
  }

  /** Resolves when the connection accepts more data. */
  async notify(method: string, params: Params): Promise<void> {
    await this.#write(eventOf({ jsonrpc: '2.0', method, params }));
  }

  stop(): void {
    clearInterval(this.#keepAlive);
  }

  finish(reply: Reply | undefined): void {
    const response = this.#response;
    if (this.signal.aborted) return;
    if (!reply) {
      response.destroy();
      return;
    }
    this.#work = reply.work;
    const { id } = this.#request;
    const message = { jsonrpc: '2.0', id, ...reply.answer };
    if (response.headersSent) response.end(eventOf(message));
    else
      response
        .writeHead(reply.status, { 'Content-Type': 'application/json' })
        .end(JSON.stringify(message));
  }

  async #write(text: string): Promise<void> {
    const response = this.#response;
    if (this.signal.aborted || response.writableEnded) return;
    if (!response.headersSent) response.writeHead(200, streamHeaders);
    if (response.write(text)) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        response.off('drain', done);
        this.signal.removeEventListener('abort', done);
        resolve();
      };
      response.on('drain', done);
      this.signal.addEventListener('abort', done);
    });
  }
}

const streamHeaders = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-cache, no-transform',
  'X-Accel-Buffering': 'no'
};

function eventOf(message: unknown): string {
  return `event: message\ndata: ${JSON.stringify(message)}\n\n`;
}
