import { setTimeout as delay } from 'node:timers/promises';
import { type CallFacts, forget, note, noteError } from './call-facts.ts';
import { beginningOf, watchdog, watched } from './watched-body.ts';

export interface ProviderFetch {
  fetch: typeof fetch;
  facts: CallFacts;
}

interface ProviderFetchOptions {
  /** Aborted when the run is stopped. */
  signal: AbortSignal;
  /** Milliseconds without a byte, before and within the answer; 0: never. */
  idleMs: number;
  /** Something came. */
  onActivity?: () => void;
  /** A request failed and is made again. */
  onRetry?: (why: string, waitMs: number) => void;
  /** Milliseconds; for tests. */
  wait?: (milliseconds: number, signal: AbortSignal) => Promise<unknown>;
}

const maximumAttempts = 3;
/** Who asks for more is not waited for: the caller is told instead. */
const longestWaitMs = 20_000;
const firstWaitMs = 500;
const errorTextChars = 64 * 1024;

/** Overloaded, broken or busy for a moment; 529 is Anthropic's "overloaded". */
const passing = new Set([408, 429, 500, 502, 503, 504, 529]);

/**
 * The one `fetch` for all providers. SDKs wait as long as `retry-after` says,
 * watch no body and lose status or request id: so they are told not to retry,
 * and everything of that is done here.
 *
 * Makes at most 3 requests. An answer that is no success comes back with the
 * beginning of its body read; a success streams, and ends with an error when nothing comes for
 * the idle time.
 */
export function createProviderFetch(
  options: ProviderFetchOptions
): ProviderFetch {
  const { signal, idleMs, onActivity, onRetry, wait = waitFor } = options;
  const facts: CallFacts = { idle: false, attempts: 0 };

  const once = async (
    input: Parameters<typeof fetch>[0],
    init: RequestInit | undefined
  ): Promise<Response> => {
    const silence = new AbortController();
    const watch = watchdog(idleMs, () => {
      facts.idle = true;
      silence.abort(new Error(`nothing came for ${idleMs / 1000} s`));
    });
    const signals = [signal, silence.signal, init?.signal ?? signal];
    facts.attempts += 1;
    forget(facts);
    try {
      const response = await fetch(input, {
        ...init,
        // A key goes to the address it is meant for, and nowhere else.
        redirect: 'manual',
        signal: AbortSignal.any(signals)
      });
      note(response, facts);
      onActivity?.();
      watch.touch();
      if (!response.ok) {
        const text = await beginningOf(response.body, errorTextChars);
        watch.end();
        noteError(text, facts);
        return withBody(response, text);
      }
      return withBody(response, watched(response.body, watch, onActivity));
    } catch (error) {
      watch.end();
      throw error;
    }
  };

  const again = async (why: string, attempt: number): Promise<boolean> => {
    if (attempt >= maximumAttempts || signal.aborted || facts.idle)
      return false;
    const asked = (facts.retryAfterSeconds ?? 0) * 1000;
    if (asked > longestWaitMs) return false;
    const backoff = firstWaitMs * 2 ** (attempt - 1) * (1 + Math.random() / 4);
    const waitMs = Math.max(asked, backoff);
    onRetry?.(why, waitMs);
    await wait(waitMs, signal);
    return true;
  };

  return {
    facts,
    fetch: async (input, init) => {
      // An SDK may hand over a Request, whose body can be read but once.
      const fresh = () => (input instanceof Request ? input.clone() : input);
      for (let attempt = 1; ; attempt += 1) {
        try {
          const response = await once(fresh(), init);
          if (!passing.has(response.status)) return response;
          if (!(await again(`status ${response.status}`, attempt)))
            return response;
        } catch (error) {
          if (init?.signal?.aborted) throw error;
          if (!(await again('a network error', attempt))) throw error;
        }
      }
    }
  };
}

function withBody(
  { status, statusText, headers }: Response,
  body: ConstructorParameters<typeof Response>[0]
): Response {
  const none = [204, 205, 304].includes(status);
  return new Response(none ? null : body, { status, statusText, headers });
}

function waitFor(milliseconds: number, signal: AbortSignal): Promise<unknown> {
  return delay(milliseconds, undefined, { signal });
}
