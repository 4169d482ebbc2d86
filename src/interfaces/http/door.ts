import type { IncomingMessage, ServerResponse } from 'node:http';
import { isJsonContentType } from '@modelcontextprotocol/sdk/shared/mediaType.js';
import { logProblem } from '../../log.ts';
import type { Life } from '../mcp/lifecycle.ts';
import { type Refusal, refuse } from './answer.ts';
import { bodyOf } from './body.ts';
import type { Connections } from './connections.ts';
import { type Gate, refusalOf } from './gate.ts';
import {
  isInitialize,
  missingSession,
  noBatches,
  unknownSession,
  withoutSession
} from './post.ts';
import type { Sessions } from './sessions.ts';

export interface Door {
  gate: Gate;
  life: Life;
  connections: Connections;
  sessions: Sessions;
  bodyBytes: number;
}

/** Leads each request to its session, or says why not. Never throws. */
export function doorkeeper(door: Door) {
  return async (
    request: IncomingMessage,
    response: ServerResponse
  ): Promise<void> => {
    // Clients break off: that is no problem of ours.
    response.on('error', () => undefined);
    try {
      const refusal = await lead(door, request, response);
      if (refusal) refuse(response, refusal);
    } catch (error) {
      if (response.destroyed || request.destroyed) return;
      logProblem(error);
      if (response.headersSent) response.destroy();
      else refuse(response, internal);
    }
  };
}

async function lead(
  { gate, life, connections, sessions, bodyBytes }: Door,
  request: IncomingMessage,
  response: ServerResponse
): Promise<Refusal | undefined> {
  const closed = refusalOf(request, gate);
  if (closed) return closed;
  if (!connections.admit(request.socket)) return crowded;
  if (life.ending.aborted) return ending;
  const isPost = request.method === 'POST';
  if (isPost && !isJsonContentType(request.headers['content-type']))
    return wrongType;
  const goOn = () => {
    if (request.headers.expect) response.writeContinue();
  };
  const body = isPost ? await bodyOf(request, bodyBytes, goOn) : undefined;
  if (body && 'refusal' in body) return body.refusal;
  const { 'mcp-session-id': id } = request.headers;
  if (body && id === undefined && isInitialize(body.value)) {
    if (!sessions.hasRoom()) return full(sessions.retrySeconds);
    await sessions.open(request, response, body.value);
    return undefined;
  }
  if (id === undefined)
    return body ? withoutSession(body.value) : missingSession;
  const session = sessions.find(String(id));
  if (!session) return unknownSession;
  if (Array.isArray(body?.value) && !session.hasBatches) return noBatches;
  await session.handle(request, response, body?.value);
  return undefined;
}

const wrongType: Refusal = {
  status: 415,
  code: -32000,
  message: 'Unsupported Media Type: send application/json.'
};

const crowded: Refusal = {
  status: 503,
  code: -32000,
  message:
    'Too many connections are open with the token. Close some, or send requests one after another.',
  headers: { Connection: 'close', 'Retry-After': '1' }
};

const ending: Refusal = {
  status: 503,
  code: -32000,
  message: 'The server is ending.',
  headers: { Connection: 'close' }
};

const internal: Refusal = {
  status: 500,
  code: -32603,
  message:
    'Something went wrong inside troupe. Look at the server log (stderr).'
};

function full(seconds: number): Refusal {
  return {
    status: 503,
    code: -32000,
    message:
      'Too many sessions are in use (http.sessions). One makes room by DELETE, or when nobody has used it for a minute.',
    headers: { 'Retry-After': String(seconds) }
  };
}
