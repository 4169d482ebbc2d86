import { createHash, randomBytes } from 'node:crypto';
import { bearerOf } from '../http/token.ts';

/** `look`: reads only; `act`: may also answer, cancel and continue. */
export type Scope = 'look' | 'act';

export interface Login {
  token: string;
  scope: Scope;
}

/** A code works once, for so long. */
export const codeSeconds = 60;
/** The oldest token or code gives way to a new one. */
const mostKept = 1000;

/**
 * One-time codes and the tokens that they are exchanged for, in the memory of
 * one server: its end makes all of them invalid.
 */
export class Logins {
  readonly #codes = new Map<string, { scope: Scope; until: number }>();
  /** By digest, so that a lookup takes no time that depends on a token. */
  readonly #tokens = new Map<string, Scope>();
  readonly #now: () => number;

  /** @param now a monotonic clock, in milliseconds */
  constructor(now = () => performance.now()) {
    this.#now = now;
  }

  newCode(scope: Scope): string {
    const code = randomBytes(18).toString('base64url');
    const until = this.#now() + codeSeconds * 1000;
    keep(this.#codes, digest(code), { scope, until });
    return code;
  }

  /** Undefined for a code that is unknown, used or too old. */
  exchange(code: string): Login | undefined {
    const key = digest(code);
    const found = this.#codes.get(key);
    this.#codes.delete(key);
    if (!found || found.until < this.#now()) return undefined;
    const token = randomBytes(32).toString('base64url');
    keep(this.#tokens, digest(token), found.scope);
    return { token, scope: found.scope };
  }

  /** The scope of an Authorization header; undefined without a valid token. */
  scopeOf(header?: string): Scope | undefined {
    return this.#tokens.get(digest(bearerOf(header)));
  }
}

function keep<Value>(map: Map<string, Value>, key: string, value: Value): void {
  const [oldest] = map.keys();
  if (map.size >= mostKept && oldest !== undefined) map.delete(oldest);
  map.set(key, value);
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
