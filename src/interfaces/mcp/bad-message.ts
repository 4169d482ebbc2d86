import type { RequestId } from '@modelcontextprotocol/sdk/types.js';
import { JSONRPCRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { shortened } from './define-tool.ts';
import type { LongLine } from './message-lines.ts';

/** An answer to what is no request, so that its sender does not wait. */
export interface Refusal {
  id: RequestId;
  why: string;
}

/** Of a batch, so many are answered. */
const mostRefusals = 1000;

/**
 * What to answer to a message that MCP does not know; nothing where there is
 * no id, or where it is itself an answer.
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
  return isId(id) ? [{ id, why: reason(value) }] : [];
}

/** One that comes back as it was sent. */
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
    ? 'This is no request as MCP has it: it has a member too many.'
    : `This is no request as MCP has it: "${shortened(path)}" is missing or wrong.`;
}

/** Before anything else is opened, so that it is the request's own. */
const isRequest = /^\s*\{[^{}[\]]*"method"\s*:/;
const idIn = '"id"\\s*:\\s*(-?\\d{1,15}|"[^"\\\\]{1,200}")';
const atHead = new RegExp(`^\\s*\\{[^{}[\\]]*?${idIn}\\s*,`);
const version = '(?:\\s*,\\s*"jsonrpc"\\s*:\\s*"2\\.0")?';
const atTail = new RegExp(`,\\s*${idIn}${version}\\s*\\}\\s*$`);

/** The id of a request whose middle is not known, where it shows. */
export function idOfLong({ head, tail }: LongLine): RequestId | undefined {
  if (!isRequest.test(head)) return undefined;
  const found = atHead.exec(head)?.[1] ?? atTail.exec(tail)?.[1];
  const id: unknown = found === undefined ? undefined : JSON.parse(found);
  return isId(id) ? id : undefined;
}
