import type { ServerResponse } from 'node:http';
import {
  ClientRequestSchema,
  type RequestId,
  SUPPORTED_PROTOCOL_VERSIONS
} from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { shortened } from '../mcp/transport/protocol.ts';

/** An HTTP response with a JSON-RPC error. */
export interface Refusal {
  status: number;
  /** The JSON-RPC error code. */
  code: number;
  message: string;
  headers: Record<string, string>;
  /** Details of the JSON-RPC error. */
  data?: unknown;
  /** The id of the request, if known. */
  id?: string | number;
}

/** @param code the JSON-RPC error code */
export function refusal(
  status: number,
  message: string,
  headers: Record<string, string> = {},
  code = -32000
): Refusal {
  return { status, code, message, headers };
}

export function refuse(response: ServerResponse, refusal: Refusal): void {
  const { status, code, message, headers, data, id = null } = refusal;
  const body = { jsonrpc: '2.0', error: { code, message, data }, id };
  response
    .writeHead(status, { 'Content-Type': 'application/json', ...headers })
    .end(JSON.stringify(body));
}

/** The fields that are read before a session gets the message. */
const messageSchema = z.looseObject({
  method: z.string(),
  id: z.union([z.string(), z.number()]).optional()
});

const initializeSchema = z.looseObject({
  params: z.looseObject({
    protocolVersion: z.string(),
    clientInfo: z.looseObject({ name: z.string() }).optional()
  })
});

/** Every request method of the supported protocol. */
const knownMethods = new Set<string>(
  ClientRequestSchema.options.flatMap(({ shape }) => [...shape.method.values])
);

/** The first protocol revision without batches. */
const firstWithoutBatches = '2025-06-18';

/**
 * Whether the session that an `initialize` request opens may send batches. The
 * header MCP-Protocol-Version is not used, because many clients omit it.
 */
export function allowsBatches(initialize: unknown): boolean {
  const request = initializeSchema.safeParse(initialize).data;
  const version = request?.params.protocolVersion;
  // A client that asks for an unknown revision gets the latest one.
  return SUPPORTED_PROTOCOL_VERSIONS.some(
    (one) => one === version && one < firstWithoutBatches
  );
}

/** The `clientInfo.name` of an `initialize` request. */
export function clientNameIn(initialize: unknown): string | undefined {
  const request = initializeSchema.safeParse(initialize).data;
  return request?.params.clientInfo?.name;
}

/** The ids of the requests in a body, which is one message or a batch. */
export function requestIdsIn(body: unknown): RequestId[] {
  const messages: unknown[] = Array.isArray(body) ? body : [body];
  return messages.flatMap(
    (message) => messageSchema.safeParse(message).data?.id ?? []
  );
}

export function isInitialize(message: unknown): boolean {
  return messageSchema.safeParse(message).data?.method === 'initialize';
}

/**
 * The error for a message without a session. A client of a later protocol
 * revision first calls a method of that revision, and falls back to this
 * revision if the method does not exist.
 */
export function withoutSession(message: unknown): Refusal {
  const { method, id } = messageSchema.safeParse(message).data ?? {};
  if (id !== undefined && method !== undefined && !knownMethods.has(method))
    return { ...refusal(200, 'Method not found', {}, -32601), id };
  return missingSession;
}

export function duplicateId(id: RequestId): Refusal {
  const shown = JSON.stringify(shortened(String(id)));
  const message = `Invalid Request: the id ${shown} belongs to a request that is still unanswered. Use a new id.`;
  return { ...refusal(400, message, {}, -32600), id };
}

export const missingSession = refusal(
  400,
  'Bad Request: the header Mcp-Session-Id is missing.'
);

export const unknownSession = refusal(
  404,
  'Session not found. It has ended: initialize a new one.',
  {},
  -32001
);

export const noBatches = refusal(
  400,
  `Invalid Request: a batch. Since ${firstWithoutBatches} each message is sent alone.`,
  {},
  -32600
);
