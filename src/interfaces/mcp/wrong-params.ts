import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  CallToolRequestSchema,
  InitializeRequestSchema,
  type JSONRPCMessage,
  ListToolsRequestSchema,
  type RequestId
} from '@modelcontextprotocol/sdk/types.js';
import type { ZodType } from 'zod';
import { shortened } from './define-tool.ts';

const schemas = new Map<string, ZodType>([
  ['initialize', InitializeRequestSchema],
  ['tools/call', CallToolRequestSchema],
  ['tools/list', ListToolsRequestSchema]
]);

interface Refusal {
  id: RequestId;
  message: string;
}

/**
 * Answers requests whose params are wrong in a sentence, and passes over the
 * wish for a task, which we do not offer. The SDK would call both a fault of
 * ours, and repeat at length what they hold.
 * @param transport connected to its server
 */
export function refuseWrongParams(transport: Transport): void {
  const take = transport.onmessage;
  transport.onmessage = (received, extra) => {
    const message = withoutTask(received);
    const refusal = refusalOf(message);
    if (!refusal) {
      take?.(message, extra);
      return;
    }
    const { id, message: text } = refusal;
    const error = { code: -32602, message: text };
    transport
      .send({ jsonrpc: '2.0', id, error }, { relatedRequestId: id })
      .catch(() => undefined);
  };
}

/** Typed for what an SDK's message may be, whatever its method. */
function withoutTask<Message extends JSONRPCMessage>(
  message: Message
): Message {
  if (!('params' in message && message.params && 'task' in message.params))
    return message;
  const { task, ...params } = message.params;
  return { ...message, params };
}

function refusalOf(message: JSONRPCMessage): Refusal | undefined {
  if (!('method' in message && 'id' in message)) return undefined;
  const { id, method } = message;
  const issue = schemas.get(method)?.safeParse(message).error?.issues[0];
  if (!issue) return undefined;
  const path = shortened(issue.path.map(String).join('.'));
  return { id, message: `"${path}" of ${method} is missing or wrong.` };
}
