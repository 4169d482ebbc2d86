import type { Readable, Writable } from 'node:stream';
import { logProblem } from '../../host/log.ts';
import { version } from '../../host/package.ts';
import { MessageLines } from '../mcp/transport/message-lines.ts';
import { type AskTool, refusal } from './ask-tools.ts';

/*
 * A server of the Model Context Protocol with the tools of one agent that asks.
 * The program of each such agent starts it, so it is small: the SDK and its
 * schemas would double the memory of the process. It speaks the revisions with
 * `initialize`, and 2026-07-28, in which each request describes itself.
 */

type Fields = Record<string, unknown>;
type Id = string | number;

const instructions =
  'ask_coordinator asks the agent or person that gave you this task, and waits for the answer.';

const serverInfo = { name: 'troupe', title: 'troupe', version };
const capabilities = { tools: {} };

const modernRevision = '2026-07-28';
const revisions = [
  '2025-11-25',
  '2025-06-18',
  '2025-03-26',
  '2024-11-05',
  '2024-10-07'
];

const prefix = 'io.modelcontextprotocol';
const versionKey = `${prefix}/protocolVersion`;
const capabilitiesKey = `${prefix}/clientCapabilities`;

/** Methods that only the latest revision has. */
const modernMethods = ['server/discover', 'subscriptions/listen'];

/** No message needs as much. */
const mostBytes = 10 * 1024 * 1024;

/** How long a client may use a list again, in milliseconds. */
const freshMs = 60_000;

/** An error of the protocol. */
class Refusal extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** A request that is unanswered. */
interface Exchange {
  id: Id;
  signal: AbortSignal;
  params: Fields;
  isModern: boolean;
}

/** Serves tools over a pair of streams, in lines of JSON. */
export class AskServer {
  readonly #tools: AskTool[];
  readonly #output: Writable;
  readonly #open = new Map<Id, AbortController>();
  readonly #calls = new Set<Promise<void>>();

  constructor(tools: AskTool[], input: Readable, output: Writable) {
    this.#tools = tools;
    this.#output = output;
    const lines = new MessageLines(mostBytes);
    input.on('data', (chunk: Buffer) => {
      for (const line of lines.add(chunk))
        if (typeof line !== 'string')
          this.#fail(null, new Refusal(-32600, 'The message is too long.'));
        else if (line.trim() !== '') this.#receive(line);
    });
  }

  /** Cancels all calls. Resolves once they have settled and are answered. */
  async end(): Promise<void> {
    for (const controller of this.#open.values()) controller.abort();
    await Promise.allSettled(this.#calls);
  }

  #receive(line: string): void {
    let message: unknown;
    try {
      message = JSON.parse(line);
    } catch {
      this.#fail(null, new Refusal(-32700, 'The message is not JSON.'));
      return;
    }
    // Batches are of revisions that no program uses here.
    for (const one of Array.isArray(message) ? message : [message])
      this.#take(Object(one), Array.isArray(message));
  }

  #take(message: Fields, isInBatch: boolean): void {
    const { id, method, jsonrpc } = message;
    const params: Fields = Object(message.params);
    if (method === undefined && ('result' in message || 'error' in message))
      return;
    if (!isId(id)) {
      if (method === 'notifications/cancelled' && isId(params.requestId))
        this.#open.get(params.requestId)?.abort();
      // Other notifications mean nothing here.
      return;
    }
    const problem = isInBatch
      ? 'There are no batches: send one message a line.'
      : jsonrpc !== '2.0' || typeof method !== 'string'
        ? 'This is not a valid MCP request: "jsonrpc" or "method" is missing or wrong.'
        : this.#open.has(id)
          ? `The id ${JSON.stringify(id)} belongs to a request that is still unanswered. Use a new id.`
          : undefined;
    if (problem !== undefined) {
      this.#fail(id, new Refusal(-32600, problem));
      return;
    }
    const work = this.#answer(id, String(method), params);
    this.#calls.add(work);
    void work.finally(() => this.#calls.delete(work));
  }

  async #answer(id: Id, method: string, params: Fields): Promise<void> {
    const controller = new AbortController();
    this.#open.set(id, controller);
    const { signal } = controller;
    const meta: Fields = Object(params._meta);
    const isModern = modernMethods.includes(method) || versionKey in meta;
    try {
      if (isModern) checkEnvelope(meta);
      const exchange = { id, signal, params, isModern };
      const result = await this.#resultOf(method, exchange);
      if (result && !signal.aborted)
        this.#send({
          id,
          result: isModern ? complete(method, result) : result
        });
    } catch (error) {
      if (!(error instanceof Refusal)) logProblem(error);
      if (!signal.aborted) this.#fail(id, error);
    } finally {
      this.#open.delete(id);
    }
  }

  /** Undefined for a request that the client has canceled. */
  async #resultOf(
    method: string,
    exchange: Exchange
  ): Promise<Fields | undefined> {
    const { params, isModern } = exchange;
    switch (method) {
      case 'initialize':
        if (isModern) break;
        return {
          protocolVersion: revisionFor(params.protocolVersion),
          capabilities,
          serverInfo,
          instructions
        };
      case 'ping':
        if (isModern) break;
        return {};
      case 'server/discover':
        return {
          supportedVersions: [modernRevision, ...revisions],
          capabilities,
          instructions
        };
      case 'subscriptions/listen':
        return this.#listen(exchange);
      case 'tools/list':
        return { tools: this.#tools.map(({ call, ...facts }) => facts) };
      case 'tools/call':
        return this.#call(exchange);
    }
    throw new Refusal(-32601, 'Method not found');
  }

  async #call({ signal, params }: Exchange): Promise<Fields> {
    const { name, arguments: input = {} } = params;
    if (typeof name !== 'string')
      throw new Refusal(
        -32602,
        '"params.name" of tools/call is missing or wrong.'
      );
    const tool = this.#tools.find((one) => one.name === name);
    if (!tool)
      return refusal(
        'unknown_tool',
        `There is no tool ${JSON.stringify(name.slice(0, 60))}.`,
        `Tools: ${this.#tools.map((one) => one.name).join(', ')}.`
      );
    const { progressToken } = Object(params._meta);
    const progress = (done: number, message: string) => {
      if (progressToken === undefined || signal.aborted) return;
      const report = { progressToken, progress: done, message };
      this.#send({ method: 'notifications/progress', params: report });
    };
    return tool.call(input, { signal, progress });
  }

  /** Reports nothing, as nothing here changes, until the client cancels it. */
  async #listen({ id, signal, params }: Exchange): Promise<undefined> {
    const { notifications } = params;
    if (typeof notifications !== 'object' || notifications === null)
      throw new Refusal(
        -32602,
        'The request wants "notifications": which changes to report.'
      );
    const _meta = { [`${prefix}/subscriptionId`]: id };
    this.#send({
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications: {}, _meta }
    });
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
  }

  #fail(id: Id | null, problem: unknown): void {
    const { code, message, data } =
      problem instanceof Refusal
        ? problem
        : new Refusal(-32603, 'Something went wrong inside troupe.');
    const details = data === undefined ? {} : { data };
    this.#send({ id, error: { code, message, ...details } });
  }

  #send(message: Fields): void {
    this.#output.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }
}

/** @throws Refusal for a request that does not describe itself */
function checkEnvelope(meta: Fields): void {
  const requested = meta[versionKey];
  const wrong =
    typeof requested !== 'string'
      ? versionKey
      : typeof meta[capabilitiesKey] !== 'object'
        ? capabilitiesKey
        : undefined;
  if (wrong !== undefined)
    throw new Refusal(-32602, `"_meta" of the request wants "${wrong}".`);
  if (requested !== modernRevision)
    throw new Refusal(-32022, 'Unsupported protocol version', {
      supported: [modernRevision, ...revisions],
      requested
    });
}

/** Adds what each result of the latest revision has. */
function complete(method: string, result: Fields): Fields {
  const isFresh = method === 'tools/list' || method === 'server/discover';
  return {
    resultType: 'complete',
    ...result,
    ...(isFresh ? { ttlMs: freshMs, cacheScope: 'private' } : {}),
    _meta: { [`${prefix}/serverInfo`]: serverInfo }
  };
}

/** The revision that was asked for, or the latest with `initialize`. */
function revisionFor(requested: unknown): string | undefined {
  return revisions.find((one) => one === requested) ?? revisions[0];
}

function isId(value: unknown): value is Id {
  return typeof value === 'string' || Number.isFinite(value);
}
