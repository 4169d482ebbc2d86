import {
  ClientRequestSchema,
  SUPPORTED_PROTOCOL_VERSIONS
} from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import type { Refusal } from './answer.ts';

/** As far as it matters before a session has it. */
const messageSchema = z.looseObject({
  method: z.string(),
  id: z.union([z.string(), z.number()]).optional()
});

const initializeSchema = z.looseObject({
  params: z.looseObject({ protocolVersion: z.string() })
});

/** Every method that a client of this protocol may call. */
const known = new Set<string>(
  ClientRequestSchema.options.flatMap(({ shape }) => [...shape.method.values])
);

/** From this revision on a message is sent alone. */
const firstWithoutBatches = '2025-06-18';

/**
 * Whether the session that this message begins may send batches. What its
 * requests say of a revision later on does not count: many say nothing.
 */
export function beginsWithBatches(initialize: unknown): boolean {
  const asked = initializeSchema.safeParse(initialize).data;
  const version = asked?.params.protocolVersion;
  // Who asks for a revision that there is not gets the latest.
  return SUPPORTED_PROTOCOL_VERSIONS.some(
    (one) => one === version && one < firstWithoutBatches
  );
}

export function isInitialize(message: unknown): boolean {
  return messageSchema.safeParse(message).data?.method === 'initialize';
}

/**
 * Why a message without a session is not taken. A client of a later protocol
 * asks with a method of that one, and has to be told that there is no such
 * method before it tries this protocol.
 */
export function withoutSession(message: unknown): Refusal {
  const { method, id } = messageSchema.safeParse(message).data ?? {};
  if (id !== undefined && method !== undefined && !known.has(method))
    return { status: 200, code: -32601, message: 'Method not found', id };
  return missingSession;
}

export const missingSession: Refusal = {
  status: 400,
  code: -32000,
  message: 'Bad Request: the header Mcp-Session-Id is missing.'
};

export const unknownSession: Refusal = {
  status: 404,
  code: -32001,
  message: 'Session not found. It has ended: initialize a new one.'
};

export const noBatches: Refusal = {
  status: 400,
  code: -32600,
  message: `Invalid Request: a batch. Since ${firstWithoutBatches} each message is sent alone.`
};
