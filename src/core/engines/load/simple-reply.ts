import type { Reply } from '../../../plugin/plugin.ts';

/**
 * A copy of a valid reply whose members are text, numbers and booleans, as the
 * schema would return it, in a tenth of the time: nearly every line of output
 * leads to one. Undefined for any other value, which the schema must judge.
 */
export function simpleReply(answer: unknown): Reply | undefined {
  if (typeof answer !== 'object' || answer === null) return undefined;
  if (Object.getPrototypeOf(answer) !== Object.prototype) return undefined;
  // The copy is judged, because a getter may return another value next time.
  const copy = { ...answer };
  return isSimple(copy) ? copy : undefined;
}

function isSimple(reply: Partial<Reply>): reply is Reply {
  for (const key in reply)
    if (!isBasic(key, Reflect.get(reply, key))) return false;
  return reply.text !== undefined && reply.finished !== undefined;
}

/** False if the schema has to judge the member. */
function isBasic(key: string, value: unknown): boolean {
  switch (key) {
    case 'text':
    case 'progress':
    case 'sessionId':
    case 'model':
      return typeof value === 'string';
    case 'finished':
      return typeof value === 'boolean';
    case 'costUsd':
    case 'cachedTokens':
      return isCount(value);
    case 'failure':
    case 'usage':
    case 'usageScope':
    case 'retrying':
    case 'denials':
    case 'edits':
    case '__proto__':
      return false;
    default:
      // A plugin may keep its own members in a reply.
      return true;
  }
}

/** Any other number is left to the schema, which may refuse it. */
function isCount(value: unknown): boolean {
  return typeof value === 'number' && value >= 0 && value < 1e9;
}
