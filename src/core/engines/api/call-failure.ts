import type {
  ApiEngine,
  Failure,
  FailureCode
} from '../../../plugin/plugin.ts';
import { errnoOf } from '../../errors.ts';
import { classifyWith, wordsOf } from '../failures.ts';
import type { CallFacts } from './provider-fetch.ts';

interface FailedCall {
  facts: CallFacts;
  engine: ApiEngine;
  label: string;
  /** Removes the key from text of the provider or the SDK. */
  redact: (text: string) => string;
}

/**
 * Classifies a failed call. The facts of the HTTP response take precedence over
 * the error, because SDKs wrap, lose or invent errors.
 */
export function failureOfCall(error: unknown, call: FailedCall): Failure {
  const { facts, engine, label, redact } = call;
  const failure = (
    code: FailureCode,
    what: string,
    words = '',
    next = nextSteps[code] ?? ''
  ): Failure => {
    const quoted = words === '' ? '' : `: ${asQuote(redact(words))}`;
    const sentence = `${label} ${what}${quoted}${tracesOf(facts)}`;
    const stop = /[?!…]$/.test(sentence) ? '' : '.';
    return { code, message: `${sentence}${stop} ${next}`.trim() };
  };
  const { status, errorText = '', retryAfterSeconds: wait = 0 } = facts;
  if (facts.idle)
    return failure('idle_timeout', 'sent nothing for the idle time limit');
  const root = rootOf(error);
  if (status === undefined && facts.attempts > 0)
    return failure('network', 'could not be reached', root.message);
  if (status === undefined) {
    const named = classifyWith(engine)(root.message) === 'model_not_found';
    const code = named ? 'model_not_found' : 'spawn_failed';
    return failure(code, 'could not be asked', root.message);
  }
  if (status < 200 || status > 299) {
    const reported = messageIn(errorText) ?? root.message;
    const code = codeOfStatus(facts, engine);
    const next = code === 'provider_error' ? nextAfter.get(status) : undefined;
    return wait < 1
      ? failure(code, `answered with status ${status}`, reported, next)
      : failure(
          code,
          `answered with status ${status} and asks to wait ${Math.ceil(wait)} s`,
          reported,
          'Spawn it again after that, or use another engine.'
        );
  }
  if (isBroken(root) || isBroken(error))
    return failure('network', 'broke off its answer', root.message, again);
  // Not shortened before redaction: the redactor misses half a key.
  const problem = error instanceof Error ? error.message : wordsOf(error);
  const event = jsonMessageIn(problem.slice(problem.indexOf('{')));
  if (event !== undefined)
    return failure(
      codeOfWords(problem, engine),
      'failed while answering',
      event
    );
  if (isPage(facts))
    return failure(
      'bad_output',
      'sent a web page instead of an answer',
      '',
      checkAddress
    );
  // A JSON parser quotes part of its input, which may be part of a key.
  const why = /json/i.test(problem)
    ? 'it is not valid JSON'
    : (jsonMessageIn(problem) ?? problem);
  return failure('bad_output', 'sent an answer that cannot be used', why);
}

const again = 'Spawn it again.';
const later = 'Spawn it again a little later.';
const checkAddress = 'Check baseUrl.';
const changeRequest = 'Change what it names; as it is, it would fail again.';

/** Next steps for statuses without a specific failure code. */
const nextAfter = new Map([
  [400, changeRequest],
  [404, checkAddress],
  [422, changeRequest]
]);

/** Default next steps for the caller. */
const nextSteps: Partial<Record<FailureCode, string>> = {
  auth: 'Put a valid key into api_keys.json or the environment.',
  quota: 'Add credit at the provider, or use another engine.',
  rate_limited: later,
  model_not_found: 'Leave "model" out, or name one that this key may use.',
  permission_denied: 'Check what this key may do.',
  context_too_long: 'Shorten the prompt, or start a new session.',
  network: 'Check the connection, the proxy and baseUrl.',
  provider_error: later,
  content_refused: 'Rephrase the prompt, or use another engine.',
  bad_output: 'Spawn it again; if it happens again, check baseUrl.',
  idle_timeout: 'Spawn it again, or raise idleTimeoutSeconds.'
};

/** Whether the connection ended in the middle of a response. */
function isBroken(error: unknown): boolean {
  return (
    /^(ECONNRESET|EPIPE|ETIMEDOUT|UND_ERR_(BODY_TIMEOUT|SOCKET))$/.test(
      errnoOf(error) ?? ''
    ) ||
    (error instanceof Error && error.message === 'terminated')
  );
}

function codeOfStatus(facts: CallFacts, engine: ApiEngine): FailureCode {
  const { status = 0, errorText = '' } = facts;
  const known = classifyWith(engine)(errorText);
  switch (status) {
    case 401:
      return 'auth';
    case 402:
      return 'quota';
    case 403:
      return known === 'quota' || known === 'auth'
        ? known
        : 'permission_denied';
    case 413:
      return 'context_too_long';
    case 429:
      // Messages about per-minute limits may also mention quotas and billing.
      return known === 'quota' && !/per.?min/i.test(errorText)
        ? 'quota'
        : 'rate_limited';
    case 400:
    case 404:
    case 422:
      if (known && ofRequest.has(known)) return known;
      // A 404 without JSON is not from an API, so the model is not the cause.
      return status === 404 && /json/.test(facts.contentType ?? '')
        ? 'model_not_found'
        : 'provider_error';
    default:
      return status >= 300 && status < 400 ? 'network' : 'provider_error';
  }
}

/** Codes accepted from the text of a 4xx response; others are false matches. */
const ofRequest = new Set<FailureCode>([
  'auth',
  'quota',
  'model_not_found',
  'context_too_long',
  'content_refused'
]);

/** The code of an error that arrived as an event within a response. */
function codeOfWords(words: string, engine: ApiEngine): FailureCode {
  const known = classifyWith(engine)(words);
  return known === 'rate_limited' || (known && ofRequest.has(known))
    ? known
    : 'provider_error';
}

function isPage({ contentType = '' }: CallFacts): boolean {
  return /^text\/html/i.test(contentType);
}

/** The request id and the number of attempts, for the provider's support. */
function tracesOf({ requestId, attempts }: CallFacts): string {
  const traces = [
    ...(requestId ? [`request ${requestId}`] : []),
    ...(attempts > 1 ? [`${attempts} attempts`] : [])
  ];
  return traces.length === 0 ? '' : ` (${traces.join(', ')})`;
}

/** One line of at most 500 characters, without a full stop. */
function asQuote(words: string): string {
  const line = words.replace(/[\s\p{Cc}]+/gu, ' ').trim();
  const short = line.length > 500 ? `${line.slice(0, 499)}…` : line;
  return short.replace(/\.$/, '') || 'no reason given';
}

/** The message in a JSON body, or the body as text without HTML tags. */
function messageIn(body: string): string | undefined {
  const reported = jsonMessageIn(body);
  if (reported !== undefined) return reported;
  const text = body.replace(/<(style|script)[\s\S]*?<\/\1>|<[^>]*>/gi, ' ');
  return text.trim() === '' ? undefined : text;
}

/** The message in a JSON object, or in the first object of a JSON array. */
function jsonMessageIn(text: string): string | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const first: unknown = Array.isArray(value) ? value[0] : value;
  if (typeof first !== 'object' || first === null) return undefined;
  return (
    textAt(first, ['error', 'message']) ??
    textAt(first, ['error']) ??
    textAt(first, ['message']) ??
    textAt(first, ['detail']) ??
    text
  );
}

function textAt(value: unknown, path: string[]): string | undefined {
  let at = value;
  for (const name of path)
    at = typeof at === 'object' && at !== null ? Reflect.get(at, name) : '';
  return typeof at === 'string' && at !== '' ? at : undefined;
}

/** The innermost cause of an error, because SDKs wrap the system's error. */
function rootOf(error: unknown): Error {
  let at = error;
  for (let depth = 0; depth < 8 && at instanceof Error; depth += 1) {
    const inner: unknown =
      at instanceof AggregateError ? at.errors[0] : at.cause;
    if (!(inner instanceof Error)) return at;
    at = inner;
  }
  return at instanceof Error ? at : new Error(wordsOf(at));
}
