import { type IncomingHttpHeaders, request } from 'node:http';
import { until } from '../judges/until.ts';
import type { StartedHttp } from './http-server.ts';

export interface RawAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

export interface RawRequest {
  method?: string;
  path?: string;
  /** Undefined leaves one of the usual out. */
  headers?: Record<string, string | undefined>;
  body?: string;
}

const latest = '2025-11-25';

export const initialize = initializeWith(latest);

function initializeWith(protocolVersion: string): string {
  return message('initialize', {
    protocolVersion,
    capabilities: {},
    clientInfo: { name: 'raw', version: '1' }
  });
}

export function message(
  method: string,
  params: unknown = {},
  id: number | string = 1
): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params });
}

/** A request whose answer is read while it comes. */
export interface RawExchange {
  answer: Promise<RawAnswer>;
  /** Waits for something in what has come so far. */
  says: (pattern: RegExp) => Promise<unknown>;
  /** What has come so far. */
  soFar: () => string;
  /** Cuts the connection. */
  cut: () => Promise<void>;
}

/** One request as it stands: nothing is checked or repeated. */
export function ask(
  server: Pick<StartedHttp, 'port' | 'token'>,
  options: RawRequest = {}
): Promise<RawAnswer> {
  return begin(server, options).answer;
}

/** The same, which can be broken off. */
export function begin(
  { port, token }: Pick<StartedHttp, 'port' | 'token'>,
  { method = 'POST', path = '/mcp', headers = {}, body = '' }: RawRequest = {}
): RawExchange {
  const usual = {
    authorization: `Bearer ${token}`,
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body))
  };
  const all = Object.entries({ ...usual, ...headers }).flatMap(
    ([name, value]): [string, string][] =>
      value === undefined ? [] : [[name, value]]
  );
  const sent = request({
    host: '127.0.0.1',
    port,
    method,
    path,
    agent: false,
    headers: Object.fromEntries(all)
  });
  let text = '';
  const answer = new Promise<RawAnswer>((resolve, reject) => {
    sent.once('response', (response) => {
      response.setEncoding('utf8').on('data', (chunk) => {
        text += chunk;
      });
      response.on('error', () => undefined);
      response.once('close', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text
        })
      );
    });
    sent.on('error', reject);
  });
  sent.end(body);
  return {
    answer,
    says: (pattern) =>
      until(`${pattern} in ${method} ${body}`, () => pattern.test(text)),
    soFar: () => text,
    cut: async () => {
      sent.destroy();
      await answer.catch(() => undefined);
    }
  };
}

/** A session by hand: its id. */
export async function rawSession(
  server: StartedHttp,
  version = latest
): Promise<string> {
  const body = initializeWith(version);
  const { status, headers, text } = await ask(server, { body });
  const id = headers['mcp-session-id'];
  if (typeof id !== 'string') throw new Error(`${status}: ${text}`);
  return id;
}

/** A client by hand, in a session of its own. */
export class RawClient {
  readonly #server: StartedHttp;
  readonly #headers: Record<string, string>;
  #next = 0;

  constructor(server: StartedHttp, id: string) {
    this.#server = server;
    this.#headers = { 'mcp-session-id': id };
  }

  /** Any message, or any other method of HTTP. */
  begin(body: string, method = 'POST'): RawExchange {
    const headers = this.#headers;
    return begin(this.#server, { method, headers, body });
  }

  async ask(method: string, params: unknown = {}): Promise<RawAnswer> {
    this.#next += 1;
    return this.begin(message(method, params, this.#next)).answer;
  }

  /** The facts of a tool's answer. */
  async call(name: string, args: unknown = {}): Promise<Facts> {
    return factsIn(await this.ask('tools/call', { name, arguments: args }));
  }

  /** A call that says how far it is: so its beginning is known. */
  async wait(name: string, args: unknown, id: string): Promise<RawExchange> {
    const exchange = this.begin(waitCall(name, args, id));
    await exchange.says(/notifications\/progress/);
    return exchange;
  }

  async cancel(requestId: string): Promise<void> {
    const method = 'notifications/cancelled';
    const body = { jsonrpc: '2.0', method, params: { requestId } };
    await this.begin(JSON.stringify(body)).answer;
  }
}

export async function rawClient(
  server: StartedHttp,
  version?: string
): Promise<RawClient> {
  return new RawClient(server, await rawSession(server, version));
}

type Facts = Record<string, unknown>;

/** A call that asks for progress. */
export function waitCall(name: string, args: unknown, id: string): string {
  const _meta = { progressToken: id };
  return message('tools/call', { name, arguments: args, _meta }, id);
}

/** The facts of the last answer in a stream. */
export function factsIn({ status, text }: RawAnswer): Facts {
  const last = text.match(/^data: .*"result".*$/gm)?.at(-1);
  if (last === undefined) throw new Error(`${status}: ${text}`);
  return Object(JSON.parse(last.slice(6))).result.structuredContent;
}
