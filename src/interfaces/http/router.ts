import type { IncomingMessage, ServerResponse } from 'node:http';
import { isJsonContentType } from '@modelcontextprotocol/sdk/shared/mediaType.js';
import { logProblem } from '../../host/log.ts';
import type { Life } from '../mcp/server/lifecycle.ts';
import { readBody } from './body.ts';
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

type Body = { value: unknown } | { refusal: Refusal };

/** @param sendContinue answers `Expect: 100-continue` */
async function bodyOf(
  request: IncomingMessage,
  maxBytes: number,
  sendContinue: () => void
): Promise<Body> {
  const body = await readBody(request, maxBytes, sendContinue);
  if ('value' in body) return body;
  return {
    refusal:
      body.fault === 'too_long'
        ? refusal(
            413,
            `The message is longer than ${maxBytes} bytes (http.bodyMegabytes).`
          )
        : refusal(400, 'This is not JSON.', {}, -32700)
  };
}
