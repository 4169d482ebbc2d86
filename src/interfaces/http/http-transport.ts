import type { IncomingMessage, ServerResponse } from 'node:http';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  CancelledNotificationSchema,
  type JSONRPCMessage,
  type RequestId
} from '@modelcontextprotocol/sdk/types.js';
import { type AnswerTransport, answeredBy } from '../mcp/transport/protocol.ts';
import { duplicateId, type Refusal, requestIdsIn } from './message.ts';

/** The requests of one POST, which share a response. */
interface Post {
  ids: RequestId[];
  /** Requests that have no answer yet. */
  open: Set<RequestId>;
  /** Canceled requests, which get no answer. */
  cancelled: RequestId[];
  /** Called once the response has been sent. */
  onSent: (() => void)[];
}

/**
 * Wraps the SDK's transport. In addition, it cancels the calls of a closed
 * connection and ends the response of a cancelled call.
 */
export class HttpTransport implements AnswerTransport {
  onclose?: Transport['onclose'];
  onerror?: Transport['onerror'];
  onmessage?: Transport['onmessage'];
  readonly sessionId: string;
  readonly #transport: StreamableHTTPServerTransport;
  /** The POST of each active request, by request id. */
  readonly #posts = new Map<RequestId, Post>();
  readonly #streams = new Set<ServerResponse>();

  /** @param onInitialized called once the session exists */
  constructor(sessionId: string, onInitialized: () => void) {
    this.sessionId = sessionId;
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => sessionId,
      onsessioninitialized: onInitialized
    });
    this.#transport = transport;
    transport.onclose = () => this.onclose?.();
    transport.onerror = (error) => this.onerror?.(error);
    transport.onmessage = (message, extra) => {
      this.onmessage?.(message, extra);
      const id = cancelledBy(message);
      if (id !== undefined) this.#cancel(id);
    };
  }

  get canNotify(): boolean {
    return [...this.#streams].some(
      ({ headersSent, statusCode }) => headersSent && statusCode === 200
    );
  }

  start(): Promise<void> {
    return this.#transport.start();
  }

  close(): Promise<void> {
    return this.#transport.close();
  }

  /** @param body the parsed body, if the request has one */
  async handle(
    request: IncomingMessage,
    response: ServerResponse,
    body: unknown
  ): Promise<Refusal | undefined> {
    const ids = requestIdsIn(body);
    const duplicate = ids.find(
      (id, index) => this.#posts.has(id) || ids.indexOf(id) < index
    );
    if (duplicate !== undefined) return duplicateId(duplicate);
    const post: Post = {
      ids,
      open: new Set(ids),
      cancelled: [],
      onSent: []
    };
    for (const id of ids) this.#posts.set(id, post);
    if (request.method === 'GET') this.#streams.add(response);
    whenOver(request, response, (wasSent) => {
      this.#streams.delete(response);
      if (wasSent) for (const work of post.onSent) work();
      for (const id of [...post.open]) {
        this.onmessage?.(cancellationOf(id));
        this.#cancel(id);
      }
    });
    await this.#transport.handleRequest(request, response, body);
    return undefined;
  }

  async send(
    message: JSONRPCMessage,
    { relatedRequestId }: { relatedRequestId?: RequestId | undefined } = {}
  ): Promise<void> {
    const related = relatedRequestId === undefined ? {} : { relatedRequestId };
    await this.#transport.send(message, related);
    const id = answeredBy(message);
    const post = id === undefined ? undefined : this.#posts.get(id);
    if (id !== undefined && post?.open.delete(id)) this.#endIfDone(post);
  }

  afterAnswer(id: RequestId, work: () => void): void {
    const post = this.#posts.get(id);
    if (post?.open.has(id)) post.onSent.push(work);
  }

  /** Ends a response that the SDK would leave open without an answer. */
  #cancel(id: RequestId): void {
    const post = this.#posts.get(id);
    if (!post?.open.delete(id)) return;
    post.cancelled.push(id);
    this.#endIfDone(post);
  }

  #endIfDone({ ids, open, cancelled }: Post): void {
    if (open.size > 0) return;
    for (const id of ids) this.#posts.delete(id);
    for (const id of cancelled) this.#transport.closeSSEStream(id);
    // The closed stream drops this answer. It only makes the SDK forget the
    // request, which it would otherwise keep as long as the session.
    for (const id of cancelled)
      this.#transport
        .send({ jsonrpc: '2.0', id, result: {} })
        .catch(() => undefined);
  }
}

function cancelledBy(message: JSONRPCMessage): RequestId | undefined {
  return CancelledNotificationSchema.safeParse(message).data?.params.requestId;
}

function cancellationOf(requestId: RequestId): JSONRPCMessage {
  const params = { requestId, reason: 'The connection was closed.' };
  return { jsonrpc: '2.0', method: 'notifications/cancelled', params };
}

/**
 * Calls back once when a response is over: the connection has all of it, or
 * the connection is closed.
 * @param over gets whether the connection has all of the response
 */
export function whenOver(
  { socket }: IncomingMessage,
  response: ServerResponse,
  over: (wasSent: boolean) => void
): void {
  let isOver = false;
  const end = (wasSent: boolean) => {
    if (isOver) return;
    isOver = true;
    socket.off('close', fail);
    response.off('close', fail).off('finish', finish);
    over(wasSent);
  };
  const fail = () => end(false);
  // Node also emits `finish` after the last write has failed.
  const finish = () => end(!socket.destroyed && !socket.errored);
  // A queued response emits no `close`, so each response listens to the socket.
  // A client may pipeline any number of requests.
  socket.setMaxListeners(0).on('close', fail);
  response.on('close', fail).on('finish', finish);
  // A closed socket emits no further event. The callback waits until the caller
  // has begun to handle the request.
  if (socket.destroyed) setImmediate(fail);
}
