import type { IncomingMessage, ServerResponse } from 'node:http';
import { isJsonContentType } from '@modelcontextprotocol/sdk/shared/mediaType.js';
import { logProblem } from '../../host/log.ts';
import type { Life } from '../mcp/server/lifecycle.ts';
import type { Connections } from './connections.ts';
import { type Guard, refusalOf } from './guard.ts';
import {
  isInitialize,
  missingSession,
  noBatches,
  type Refusal,
  refusal,
  refuse,
  unknownSession,
  withoutSession
} from './message.ts';
import { isForModern, type ModernHttp } from './modern-http.ts';
import { type Sessions, tooManySessions } from './sessions.ts';

interface Routes {
  guard: Guard;
  life: Life;
  connections: Connections;
  sessions: Sessions;
  modern: ModernHttp;
  bodyBytes: number;
}

/** Passes each request to its session, or refuses it. Never rejects. */
export function router(routes: Routes) {
  return async (
    request: IncomingMessage,
    response: ServerResponse
  ): Promise<void> => {
    // A client that disconnects is not an error of the server.
    response.on('error', () => undefined);
    try {
      const refused = await route(routes, request, response);
      if (refused) refuse(response, refused);
    } catch (error) {
      // The request itself is destroyed as soon as its body has been read.
      if (response.destroyed || request.socket.destroyed) return;
      logProblem(error);
      if (response.headersSent) response.destroy();
      else refuse(response, internal);
    }
  };
}

async function route(
  { guard, life, connections, sessions, modern, bodyBytes }: Routes,
  request: IncomingMessage,
  response: ServerResponse
): Promise<Refusal | undefined> {
  const forbidden = refusalOf(request, guard);
  if (forbidden) return forbidden;
  if (!connections.admit(request.socket)) return tooManyConnections;
  if (life.ending.aborted) return ending;
  const isPost = request.method === 'POST';
  if (isPost && !isJsonContentType(request.headers['content-type']))
    return wrongType;
  const sendContinue = () => {
    if (request.headers.expect) response.writeContinue();
  };
  const body = isPost
    ? await bodyOf(request, bodyBytes, sendContinue)
    : undefined;
  if (body && 'refusal' in body) return body.refusal;
  if (body && isForModern(request, body.value))
    return modern.handle(request, response, body.value);
  const { 'mcp-session-id': id } = request.headers;
  if (body && id === undefined && isInitialize(body.value)) {
    if (!sessions.makeRoom()) return noRoom(sessions.retrySeconds);
    await sessions.open(request, response, body.value);
    return undefined;
  }
  if (id === undefined)
    return body ? withoutSession(body.value) : missingSession;
  const session = sessions.find(String(id));
  if (!session) return unknownSession;
  if (Array.isArray(body?.value) && !session.hasBatches) return noBatches;
  return session.handle(request, response, body?.value);
}

const wrongType = refusal(
  415,
  'Unsupported Media Type: send application/json.'
);

const tooManyConnections = refusal(
  503,
  'Too many connections are open with the token. Close some, or send requests one after another.',
  { Connection: 'close', 'Retry-After': '1' }
);

const ending = refusal(503, 'The server is ending.', { Connection: 'close' });

const internal = refusal(
  500,
  'Something went wrong inside troupe. Look at the server log (stderr).',
  {},
  -32603
);

function noRoom(seconds: number): Refusal {
  return refusal(503, tooManySessions, { 'Retry-After': String(seconds) });
}

/** A client has this long to send the rest of a body that is too long. */
const drainMs = 1000;

type Body = { value: unknown } | { refusal: Refusal };

/**
 * Parses the body of a request as JSON. Never buffers more than the limit.
 * @param sendContinue answers `Expect: 100-continue`
 */
async function bodyOf(
  request: IncomingMessage,
  maxBytes: number,
  sendContinue: () => void
): Promise<Body> {
  const length = Number(request.headers['content-length'] ?? 0);
  const isShort = length <= maxBytes;
  if (isShort) sendContinue();
  const text = isShort ? await textOf(request, maxBytes) : undefined;
  if (text === undefined) {
    drain(request);
    return {
      refusal: refusal(
        413,
        `The message is longer than ${maxBytes} bytes (http.bodyMegabytes).`
      )
    };
  }
  try {
    return { value: JSON.parse(text) };
  } catch {
    return { refusal: refusal(400, 'This is not JSON.', {}, -32700) };
  }
}

/**
 * Reads the body; undefined if it is too long.
 * @throws Error if the client disconnects
 */
async function textOf(
  request: IncomingMessage,
  maxBytes: number
): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  return new Promise((resolve, reject) => {
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length <= maxBytes) chunks.push(chunk);
      else resolve(undefined);
    });
    request.on('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
    request.on('error', reject);
    request.on('close', () =>
      reject(new Error('The client closed the connection.'))
    );
  });
}

/**
 * Discards the rest of a body for a limited time: a client whose connection is
 * closed while it sends does not read the error.
 */
function drain(request: IncomingMessage): void {
  request.removeAllListeners('data').resume();
  const cutOff = setTimeout(() => request.destroy(), drainMs).unref();
  request.once('close', () => clearTimeout(cutOff));
}
