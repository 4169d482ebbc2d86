import type { ApiEngine, Failure, FailureCode } from '../../plugin.ts';
import { errnoOf } from '../errors.ts';
import type { CallFacts } from './call-facts.ts';
import { classifyWith } from './failure-codes.ts';

/**
 * What a failed call means. The wire's own facts come first: SDKs wrap, lose
 * or invent errors, each in its own way.
 */
export function failureOfCall(
  error: unknown,
  facts: CallFacts,
  engine: ApiEngine,
  label: string
): Failure {
  const said = wordsOf(error, facts);
  const told = (code: FailureCode, sentence: string): Failure => ({
    code,
    message: `${label} ${sentence}${tracesOf(facts)}`
  });
  if (facts.idle)
    return told('idle_timeout', 'sent nothing for the idle time limit.');
  const { status } = facts;
  if (status !== undefined && (status < 200 || status > 299))
    return told(
      codeOfStatus(status, facts.errorText ?? said, engine),
      `answered with status ${status}${waitAsked(facts)}: ${said}`
    );
  const errno = errnoIn(error);
  if (status === undefined && errno !== undefined && notAnswered.has(errno))
    return told('network', `could not be reached (${errno}): ${said}`);
  if (errno !== undefined && broken.has(errno))
    return told('network', `broke off its answer (${errno}).`);
  if (status === undefined && facts.attempts > 0)
    return told('network', `could not be reached: ${said}`);
  if (status === undefined)
    return told('spawn_failed', `could not be asked: ${said}`);
  if (isTerminated(error)) return told('network', 'broke off its answer.');
  const page = /text\/html/.test(facts.contentType ?? '')
    ? 'a web page, no API answer; check baseUrl'
    : `an answer that cannot be read: ${said}`;
  return told('bad_output', `sent ${page}`);
}

/** An address that refuses, does not exist or is cut off. */
const notAnswered = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EPIPE',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_SOCKET'
]);

const broken = new Set([
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_SOCKET'
]);

function codeOfStatus(
  status: number,
  text: string,
  engine: ApiEngine
): FailureCode {
  const known = classifyWith(engine)(text);
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
      return known === 'quota' ? 'quota' : 'rate_limited';
    case 400:
    case 404:
    case 422:
      return known && ofRequest.has(known) ? known : defaultOf(status);
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

function defaultOf(status: number): FailureCode {
  return status === 404 ? 'model_not_found' : 'provider_error';
}

function waitAsked({ retryAfterSeconds }: CallFacts): string {
  if (retryAfterSeconds === undefined || retryAfterSeconds < 1) return '';
  return ` and asks to wait ${Math.ceil(retryAfterSeconds)} s`;
}

/** What a provider's support asks for. */
function tracesOf({ requestId, attempts }: CallFacts): string {
  const traces = [
    ...(requestId ? [`request ${requestId}`] : []),
    ...(attempts > 1 ? [`${attempts} attempts`] : [])
  ];
  return traces.length === 0 ? '' : ` (${traces.join(', ')})`;
}

/** The provider's own words in one line, else the SDK's. */
function wordsOf(error: unknown, { errorText }: CallFacts): string {
  const text =
    (errorText === undefined ? undefined : messageIn(errorText)) ??
    (error instanceof Error ? error.message : String(error));
  const line = text.replace(/[\s\p{Cc}]+/gu, ' ').trim();
  return line.length > 500 ? `${line.slice(0, 499)}…` : line || 'no reason';
}

/** `error.message`, `message` or `detail` of a JSON body; text of a page. */
function messageIn(body: string): string | undefined {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    const text = body.replace(/<(style|script)[\s\S]*?<\/\1>|<[^>]*>/gi, ' ');
    return text.trim() === '' ? undefined : text;
  }
  const first: unknown = Array.isArray(value) ? value[0] : value;
  return (
    textAt(first, ['error', 'message']) ??
    textAt(first, ['error']) ??
    textAt(first, ['message']) ??
    textAt(first, ['detail']) ??
    body
  );
}

function textAt(value: unknown, path: string[]): string | undefined {
  let at = value;
  for (const name of path)
    at = typeof at === 'object' && at !== null ? Reflect.get(at, name) : '';
  return typeof at === 'string' && at !== '' ? at : undefined;
}

/** The first errno in a chain of causes. */
function errnoIn(error: unknown): string | undefined {
  let at = error;
  for (let depth = 0; depth < 6 && at instanceof Error; depth += 1) {
    const errno = errnoOf(at);
    if (errno !== undefined && /^(E[A-Z]+|UND_ERR_|EAI_)/.test(errno))
      return errno;
    at = at instanceof AggregateError ? at.errors[0] : at.cause;
  }
  return undefined;
}

/** How the platform's fetch names a body that was cut off. */
function isTerminated(error: unknown): boolean {
  return error instanceof Error && /\bterminated\b/.test(error.message);
}
