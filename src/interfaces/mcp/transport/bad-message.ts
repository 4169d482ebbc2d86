import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  CallToolRequestSchema,
  InitializeRequestSchema,
  type JSONRPCMessage,
  JSONRPCRequestSchema,
  ListToolsRequestSchema,
  type RequestId
} from '@modelcontextprotocol/sdk/types.js';
import type { ZodType } from 'zod';
import type { LongLine } from './message-lines.ts';
import { shortened } from './protocol.ts';

/** An error for a message with an id, so that its sender does not wait. */
export interface Refusal {
  id: RequestId;
  message: string;
}

/** The most messages of a batch that get an error. */
const mostRefusals = 1000;

/**
 * Errors for a message that is not valid MCP. A message without an id and a
 * response get none.
 */
export function refusalsOf(value: unknown): Refusal[] {
  if (Array.isArray(value))
    return value
      .slice(0, mostRefusals)
      .flatMap((one) =>
        refusalOf(one, () => 'There are no batches: send one message a line.')
      );
  return refusalOf(value, reasonFor);
}

function refusalOf(
  value: unknown,
  reason: (value: unknown) => string
): Refusal[] {
  if (typeof value !== 'object' || value === null) return [];
  if (Object.hasOwn(value, 'result') || Object.hasOwn(value, 'error'))
    return [];
  const id: unknown = Reflect.get(value, 'id');
  return isId(id) ? [{ id, message: reason(value) }] : [];
}

/** Whether JSON preserves this id exactly. */
function isId(id: unknown): id is RequestId {
  if (typeof id === 'string') return true;
  return (
    typeof id === 'number' &&
    Number.isFinite(id) &&
    (Number.isSafeInteger(id) || !Number.isInteger(id))
  );
}

function reasonFor(value: unknown): string {
  const { error } = JSONRPCRequestSchema.safeParse(value);
  const path = error?.issues[0]?.path.map(String).join('.') ?? '';
  return path === ''
    ? 'This is not a valid MCP request: it has an unknown member.'
    : `This is not a valid MCP request: "${shortened(path)}" is missing or wrong.`;
}

/** `method` at the top level: no object or list begins before it. */
const isRequest = /^\s*\{[^{}[\]]*"method"\s*:/;
const idIn = '"id"\\s*:\\s*(-?\\d{1,15}|"[^"\\\\]{1,200}")';
const atHead = new RegExp(`^\\s*\\{[^{}[\\]]*?${idIn}\\s*,`);
const version = '(?:\\s*,\\s*"jsonrpc"\\s*:\\s*"2\\.0")?';
const atTail = new RegExp(`,\\s*${idIn}${version}\\s*\\}\\s*$`);

/** The id of a request, if it is in one of the two ends of a long line. */
export function idOfLong({ head, tail }: LongLine): RequestId | undefined {
  if (!isRequest.test(head)) return undefined;
  const found = atHead.exec(head)?.[1] ?? atTail.exec(tail)?.[1];
  const id: unknown = found === undefined ? undefined : JSON.parse(found);
  return isId(id) ? id : undefined;
}

const schemas = new Map<string, ZodType>([
  ['initialize', InitializeRequestSchema],
  ['tools/call', CallToolRequestSchema],
  ['tools/list', ListToolsRequestSchema]
]);

/**
 * Answers requests with invalid params with a short error, and removes `task`,
 * which the server does not support. The SDK would answer both with an internal
 * error that repeats the params.
 * @param transport connected to its server
 */
export function refuseWrongParams(transport: Transport): void {
  const handle = transport.onmessage;
  transport.onmessage = (received, extra) => {
    const message = withoutTask(received);
    const refusal = wrongParams(message);
    if (!refusal) {
      handle?.(message, extra);
      return;
    }
    const { id, message: text } = refusal;
    const error = { code: -32602, message: text };
    transport
      .send({ jsonrpc: '2.0', id, error }, { relatedRequestId: id })
      .catch(() => undefined);
  };
}

/** Generic because the SDK's messages differ by method. */
function withoutTask<Message extends JSONRPCMessage>(
  message: Message
): Message {
  if (!('params' in message && message.params && 'task' in message.params))
    return message;
  const { task, ...params } = message.params;
  return { ...message, params };
}

function wrongParams(message: JSONRPCMessage): Refusal | undefined {
  if (!('method' in message && 'id' in message)) return undefined;
  const { id, method } = message;
  const issue = schemas.get(method)?.safeParse(message).error?.issues[0];
  if (!issue) return undefined;
  const path = shortened(issue.path.map(String).join('.'));
  return { id, message: `"${path}" of ${method} is missing or wrong.` };
}
