import { until } from '../judges/until.ts';
import type { McpClient } from './mcp-client.ts';
import { message, type RawAnswer, type RawRequest } from './raw-http.ts';

/** The revision whose requests describe themselves. */
export const modernRevision = '2026-07-28';

const prefix = 'io.modelcontextprotocol';
export const subscriptionId = `${prefix}/subscriptionId`;
export const serverInfo = `${prefix}/serverInfo`;

type Facts = Record<string, unknown>;

/** What is different about one request. */
export interface ModernOptions {
  id?: string;
  /** `clientInfo.name`. */
  client?: string;
  version?: string;
  /** More of `_meta`; undefined takes a field away. */
  meta?: Facts;
}

/** The response to a request, or a notification. */
export interface ModernMessage {
  id?: unknown;
  method?: string;
  params?: Facts;
  result?: Facts;
  error?: { code: number; message: string; data?: unknown };
}

export function modernParams(
  params: Facts = {},
  { client = 'troupe-test', version, meta = {} }: ModernOptions = {}
): Facts {
  const _meta = {
    [`${prefix}/protocolVersion`]: version ?? modernRevision,
    [`${prefix}/clientInfo`]: { name: client, version: '1' },
    [`${prefix}/clientCapabilities`]: {},
    ...meta
  };
  return { ...params, _meta };
}

/** `_meta` without one of its fields. */
export function metaWithout(field: string): Facts {
  return { [`${prefix}/${field}`]: undefined };
}

/** Requests of this revision over stdio, as a client writes them. */
export class ModernClient {
  readonly server: McpClient;
  readonly #name: string;
  #count = 0;

  constructor(server: McpClient, name = 'troupe-test') {
    this.server = server;
    this.#name = name;
  }

  /** Sends a request; returns its id. */
  begin(method: string, params: Facts = {}, options: ModernOptions = {}) {
    this.#count += 1;
    const { id = `${this.#name}-${this.#count}` } = options;
    const its = { client: this.#name, ...options };
    this.server.send({
      jsonrpc: '2.0',
      id,
      method,
      params: modernParams(params, its)
    });
    return id;
  }

  answerTo(id: string): Promise<ModernMessage> {
    return until(`an answer to ${id}`, () =>
      this.received().find((one) => one.id === id && !one.method)
    );
  }

  ask(method: string, params: Facts = {}, options: ModernOptions = {}) {
    return this.answerTo(this.begin(method, params, options));
  }

  /** The facts of a tool's answer. */
  async call(name: string, input: Facts = {}, options: ModernOptions = {}) {
    const params = { name, arguments: input };
    const { result } = await this.ask('tools/call', params, options);
    return Object(result).structuredContent;
  }

  /** @param isModern whether the notification has `_meta`, as some clients do */
  cancel(requestId: string, isModern = false): void {
    const method = 'notifications/cancelled';
    const plain = { requestId };
    const params = isModern ? modernParams(plain) : plain;
    this.server.send({ jsonrpc: '2.0', method, params });
  }

  /** All that the server has sent, but answers to requests of `server`. */
  received(): ModernMessage[] {
    return this.server.notifications;
  }

  /** Opens a stream of changes; resolves with what is acknowledged. */
  async listen(notifications: Facts, id = 'changes'): Promise<unknown> {
    this.begin('subscriptions/listen', { notifications }, { id });
    const first = await until(`changes by ${id}`, () => this.changes(id)[0]);
    return first.params?.notifications;
  }

  /** What came by a stream of changes. */
  changes(id: string): ModernMessage[] {
    return this.received().filter(
      ({ params }) => Object(params?._meta)[subscriptionId] === id
    );
  }
}

/** The same as one POST. */
export function modernPost(
  method: string,
  params: Facts = {},
  options: ModernOptions = {},
  headers: Record<string, string | undefined> = {}
): RawRequest {
  const { id = 1, version = modernRevision } = options;
  const name = params.name ?? params.uri;
  return {
    headers: {
      'mcp-protocol-version': version,
      'mcp-method': method,
      ...(typeof name === 'string' ? { 'mcp-name': name } : {}),
      ...headers
    },
    body: message(method, modernParams(params, options), id)
  };
}

/** The messages in a response, which is an object or a stream. */
export function messagesIn({ headers, text }: RawAnswer): ModernMessage[] {
  return headers['content-type'] === 'application/json'
    ? [JSON.parse(text)]
    : eventsIn(text);
}

/** The messages of a stream so far. */
export function eventsIn(text: string): ModernMessage[] {
  return [...text.matchAll(/^data: (.*)\n\n/gm)].map(([, data = '']) =>
    JSON.parse(data)
  );
}
