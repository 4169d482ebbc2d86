import type { ApiEngine, Failure, FailureCode } from '../../plugin.ts';
import { errnoOf } from '../errors.ts';
import type { CallFacts } from './call-facts.ts';
import { wordsOf } from './engine-fault.ts';
import { classifyWith } from './failure-codes.ts';

/** What a failed call is judged by. */
export interface FailedCall {
  facts: CallFacts;
  engine: ApiEngine;
  label: string;
  /** Takes the key out of words from outside. */
  redact: (text: string) => string;
}

/**
 * What a failed call means. The wire's own facts come first: SDKs wrap, lose
 * or invent errors, each in its own way.
 */
export function failureOfCall(error: unknown, call: FailedCall): Failure {
  const { facts, engine, label, redact } = call;
  const told = (
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
    return told('idle_timeout', 'sent nothing for the idle time limit');
  const root = rootOf(error);
  if (status === undefined && facts.attempts > 0)
    return told('network', 'could not be reached', root.message);
  if (status === undefined) {
    const named = classifyWith(engine)(root.message) === 'model_not_found';
    const code = named ? 'model_not_found' : 'spawn_failed';
    return told(code, 'could not be asked', root.message);
  }
  if (status < 200 || status > 299) {
    const said = messageIn(errorText) ?? root.message;
    const code = codeOfStatus(facts, engine);
    const next = code === 'provider_error' ? nextAfter.get(status) : undefined;
    return wait < 1
      ? told(code, `answered with status ${status}`, said, next)
      : told(
          code,
          `answered with status ${status} and asks to wait ${Math.ceil(wait)} s`,
          said,
          'Spawn it again after that, or use another engine.'
        );
  }
  if (isBroken(root) || isBroken(error))
    return told('network', 'broke off its answer', root.message, again);
  // Uncut: half a key is not known as one.
  const problem = error instanceof Error ? error.message : wordsOf(error);
  const event = jsonMessageIn(problem.slice(problem.indexOf('{')));
  if (event !== undefined)
    return told(codeOfWords(problem, engine), 'failed while answering', event);
  if (isPage(facts))
    return told('bad_output', 'sent a web page, no answer', '', checkAddress);
  // A parser quotes a piece of what it read, perhaps of a key.
  const why = /json/i.test(problem)
    ? 'it is no valid JSON'
    : (jsonMessageIn(problem) ?? problem);
  return told('bad_output', 'sent an answer that cannot be used', why);
}

const again = 'Spawn it again.';
const later = 'Spawn it again a little later.';
const checkAddress = 'Check baseUrl.';
const mendRequest = 'Change what it names; as it is, it would fail again.';

/** Of errors that have no code of their own, and do not pass. */
const nextAfter = new Map([
  [400, mendRequest],
  [404, checkAddress],
  [422, mendRequest]
]);

/** What the caller can do, unless more is known. */
const nextSteps: Partial<Record<FailureCode, string>> = {
  auth: 'Put a valid key into api_keys.json or the environment.',
  quota: 'Add credit at the provider, or use another engine.',
  rate_limited: later,
  model_not_found: 'Leave "model" out, or name one that this key may use.',
  permission_denied: 'Check what this key may do.',
  context_too_long: 'Shorten the prompt, or start a new session.',
  network: 'Check the connection, the proxy and baseUrl.',
  provider_error: later,
  content_refused: 'Put it differently, or use another engine.',
  bad_output: 'Spawn it again; if it happens again, check baseUrl.',
  idle_timeout: 'Spawn it again, or raise idleTimeoutSeconds.'
};

/** A connection that ended within an answer, as the platform names it. */
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
      // Whoever limits by the minute speaks of quotas and billing, too.
      return known === 'quota' && !/per.?min/i.test(errorText)
        ? 'quota'
        : 'rate_limited';
    case 400:
    case 404:
    case 422:
      if (known && ofRequest.has(known)) return known;
      // An address where no API answers knows no model either.
      return status === 404 && /json/.test(facts.contentType ?? '')
        ? 'model_not_found'
        : 'provider_error';
    default:
      return status >= 300 && status < 400 ? 'network' : 'provider_error';
  }
}

/** What the words of a 4xx may mean; others are found by chance in them. */
const ofRequest = new Set<FailureCode>([
  'auth',
  'quota',
  'model_not_found',
  'context_too_long',
  'content_refused'
]);

/** An error that came as an event of an answer that had begun. */
function codeOfWords(words: string, engine: ApiEngine): FailureCode {
  const known = classifyWith(engine)(words);
  return known === 'rate_limited' || (known && ofRequest.has(known))
    ? known
    : 'provider_error';
}

function isPage({ contentType = '' }: CallFacts): boolean {
  return /^text\/html/i.test(contentType);
}

/** What a provider's support asks for. */
function tracesOf({ requestId, attempts }: CallFacts): string {
  const traces = [
    ...(requestId ? [`request ${requestId}`] : []),
    ...(attempts > 1 ? [`${attempts} attempts`] : [])
  ];
  return traces.length === 0 ? '' : ` (${traces.join(', ')})`;
}

/** In one line, not too long, without the full stop. */
function asQuote(words: string): string {
  const line = words.replace(/[\s\p{Cc}]+/gu, ' ').trim();
  const short = line.length > 500 ? `${line.slice(0, 499)}…` : line;
  return short.replace(/\.$/, '') || 'no reason given';
}

/** The provider's own words: of a JSON body, else the text of a page. */
function messageIn(body: string): string | undefined {
  const said = jsonMessageIn(body);
  if (said !== undefined) return said;
  const text = body.replace(/<(style|script)[\s\S]*?<\/\1>|<[^>]*>/gi, ' ');
  return text.trim() === '' ? undefined : text;
}

/** Where providers put it; undefined when the text is no JSON object. */
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

/** What lies at the bottom of an error: SDKs wrap what the system said. */
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
