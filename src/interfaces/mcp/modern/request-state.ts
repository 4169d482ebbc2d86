import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { ModernError } from './revision.ts';

let key: Buffer | undefined;

/**
 * Signs the state that a client brings back with its next try.
 * @param scope what the state is for: it counts for nothing else
 */
export function sealed(state: string, scope: string): string {
  return `${signature(state, scope).toString('base64url')}.${state}`;
}

/** @throws ModernError for a state that this process has not signed for this */
export function unsealed(text: string, scope: string): string {
  const dot = text.indexOf('.');
  const state = text.slice(dot + 1);
  const given = Buffer.from(text.slice(0, Math.max(0, dot)), 'base64url');
  const right = signature(state, scope);
  if (given.length === right.length && timingSafeEqual(given, right))
    return state;
  throw new ModernError(
    -32602,
    'This requestState is not of this server, or for another request. Call again without it.'
  );
}

function signature(state: string, scope: string): Buffer {
  key ??= randomBytes(32);
  return createHmac('sha256', key).update(`${scope}\n${state}`).digest();
}
