import { setTimeout as delay } from 'node:timers/promises';

/** Facts of the provider's last response, independent of the SDK. */
export interface CallFacts {
  /** The HTTP status; undefined when no response arrived. */
  status?: number;
  requestId?: string;
  /** The delay in seconds that the provider requests. */
  retryAfterSeconds?: number;
  contentType?: string;
  /** The beginning of an error body, at most 65,536 UTF-16 units. */
  errorText?: string;
  /** True when no byte arrived for the idle time. */
  idle: boolean;
  attempts: number;
}

interface ProviderFetch {
  fetch: typeof fetch;
  facts: CallFacts;
}

interface ProviderFetchOptions {
  /** Aborted when the run is stopped. */
  signal: AbortSignal;
  /** Milliseconds without a byte until the call fails; 0 disables it. */
  idleMs: number;
  /** Called for the response and for each chunk of its body. */
  onActivity?: () => void;
  /** Called before a failed request is repeated. */
  onRetry?: (why: string, waitMs: number) => void;
  /** Awaited before each read of a body, without an idle limit. */
  roomForMore?: () => Promise<void>;
  /** Bytes of a body; a longer one fails. Replaced in tests, as is `wait`. */
  bodyBytes?: number;
  wait?: (milliseconds: number, signal: AbortSignal) => Promise<unknown>;
}

const maximumAttempts = 3;
/** A response that requests a longer delay is returned without a retry. */
const maximumWaitMs = 20_000;
const firstWaitMs = 500;
const errorTextChars = 64 * 1024;
/** Bounds the memory of a process that reads the answers of many agents. */
const maximumBodyBytes = 256 * 1024 * 1024;

/** Some providers send 529 for "overloaded". */
const retryableStatuses = new Set([408, 429, 500, 502, 503, 504, 529]);

/**
 * Creates the `fetch` for all providers. It replaces the retries of the SDKs,
 * which wait as long as `retry-after` requests, have no idle timeout for the
 * body, and lose the status or the request id.
 *
 * Makes at most 3 requests. An error response is returned with the beginning
 * of its body already read. A successful response streams, and fails when no
 * byte arrives for the idle time.
 */
export function createProviderFetch(
  options: ProviderFetchOptions
): ProviderFetch {
  const { signal, idleMs, onActivity, onRetry } = options;
  const wait = options.wait ?? ((ms) => delay(ms, undefined, { signal }));
  const facts: CallFacts = { idle: false, attempts: 0 };

  const once = async (
    input: Parameters<typeof fetch>[0],
    init: RequestInit | undefined
  ): Promise<Response> => {
    const silence = new AbortController();
    const watchdog = startWatchdog(idleMs, () => {
      facts.idle = true;
      silence.abort(new Error(`nothing was received for ${idleMs / 1000} s`));
    });
    const signals = [signal, silence.signal, init?.signal ?? signal];
    facts.attempts += 1;
    clearResponse(facts);
    try {
      const response = await fetch(input, {
        ...init,
        // A redirect must not carry the key to another address.
        redirect: 'manual',
        signal: AbortSignal.any(signals)
      });
      recordHeaders(response, facts);
      onActivity?.();
      watchdog.touch();
      if (!response.ok) {
        const text = await beginningOf(response.body, errorTextChars);
        watchdog.end();
        recordErrorText(text, facts);
        return withBody(response, text);
      }
      return withBody(response, watched(response.body, watchdog, options));
    } catch (error) {
      watchdog.end();
      throw error;
    }
  };

  const canRetry = async (why: string, attempt: number): Promise<boolean> => {
    if (attempt >= maximumAttempts || signal.aborted || facts.idle)
      return false;
    const requestedMs = (facts.retryAfterSeconds ?? 0) * 1000;
    if (requestedMs > maximumWaitMs) return false;
    const backoff = firstWaitMs * 2 ** (attempt - 1) * (1 + Math.random() / 4);
    const waitMs = Math.max(requestedMs, backoff);
    onRetry?.(why, waitMs);
    await wait(waitMs, signal);
    return true;
  };

  return {
    facts,
    fetch: async (input, init) => {
      // The body of a Request can be read only once, so each attempt clones it.
      const fresh = () => (input instanceof Request ? input.clone() : input);
      for (let attempt = 1; ; attempt += 1) {
        try {
          const response = await once(fresh(), init);
          if (!retryableStatuses.has(response.status)) return response;
          if (!(await canRetry(`status ${response.status}`, attempt)))
            return response;
        } catch (error) {
          if (init?.signal?.aborted) throw error;
          if (!(await canRetry('a network error', attempt))) throw error;
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

function clearResponse(facts: CallFacts): void {
  delete facts.status;
  delete facts.requestId;
  delete facts.retryAfterSeconds;
  delete facts.contentType;
  delete facts.errorText;
}

const requestIdNames = [
  'x-request-id',
  'request-id',
  'x-correlation-id',
  'x-kong-request-id',
  'x-goog-request-id'
];

function recordHeaders({ status, headers }: Response, facts: CallFacts): void {
  const requestId = requestIdNames
    .map((name) => headers.get(name))
    .find(Boolean);
  const contentType = headers.get('content-type');
  const retryAfter = retryAfterOf(headers);
  facts.status = status;
  if (requestId) facts.requestId = requestId.slice(0, 200);
  if (contentType) facts.contentType = contentType;
  if (retryAfter !== undefined) facts.retryAfterSeconds = retryAfter;
}

function recordErrorText(text: string, facts: CallFacts): void {
  facts.errorText = text;
  // Some providers send the delay in the body instead of a header.
  const [, seconds] = /"retryDelay":\s*"(\d+(?:\.\d+)?)s"/.exec(text) ?? [];
  if (seconds !== undefined) facts.retryAfterSeconds ??= Number(seconds);
}

/** The delay in seconds; `retry-after` is a number of seconds or a date. */
function retryAfterOf(headers: Headers): number | undefined {
  const milliseconds = Number(headers.get('retry-after-ms') ?? Number.NaN);
  if (Number.isFinite(milliseconds)) return Math.max(0, milliseconds / 1000);
  const text = headers.get('retry-after');
  if (!text) return undefined;
  const seconds = Number(text);
  if (Number.isFinite(seconds)) return Math.max(0, seconds);
  const until = Date.parse(text);
  if (Number.isNaN(until)) return undefined;
  return Math.max(0, (until - Date.now()) / 1000);
}

interface Watchdog {
  touch: () => void;
  end: () => void;
}

/** Calls `onSilence` when no touch occurs for this time; 0 disables it. */
function startWatchdog(milliseconds: number, onSilence: () => void): Watchdog {
  let timer: NodeJS.Timeout | undefined;
  const end = () => clearTimeout(timer);
  const touch = () => {
    end();
    if (milliseconds > 0) timer = setTimeout(onSilence, milliseconds);
  };
  touch();
  return { touch, end };
}

/** Passes the body through and touches the watchdog for every chunk. */
function watched(
  body: Response['body'],
  watchdog: Watchdog,
  {
    onActivity,
    roomForMore,
    bodyBytes = maximumBodyBytes
  }: ProviderFetchOptions
): Response['body'] {
  if (!body) {
    watchdog.end();
    return body;
  }
  const reader = body.getReader();
  let received = 0;
  return new ReadableStream({
    async pull(controller) {
      try {
        if (roomForMore) {
          watchdog.end();
          await roomForMore();
          watchdog.touch();
        }
        const { done, value } = await reader.read();
        watchdog.touch();
        onActivity?.();
        received += value?.length ?? 0;
        if (received > bodyBytes) {
          void reader.cancel().catch(() => undefined);
          throw new Error(`it is larger than ${bodyBytes} bytes`);
        }
        if (!done) return controller.enqueue(value);
        watchdog.end();
        controller.close();
      } catch (error) {
        watchdog.end();
        controller.error(error);
      }
    },
    async cancel(reason) {
      watchdog.end();
      await reader.cancel(reason);
    }
  });
}

/** Reads the beginning of a body and cancels the rest. */
async function beginningOf(
  body: Response['body'],
  chars: number
): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length >= chars) return text.slice(0, chars);
  }
  return text + decoder.decode();
}
