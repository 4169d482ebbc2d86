/** What is known of a provider's last answer, whatever an SDK made of it. */
export interface CallFacts {
  /** HTTP status; undefined when there was no answer. */
  status?: number;
  requestId?: string;
  /** Seconds the provider asked us to wait. */
  retryAfterSeconds?: number;
  contentType?: string;
  /** The body of an answer that is no success, at most 64 KB. */
  errorText?: string;
  /** Nothing came for the idle time. */
  idle: boolean;
  /** Requests that were made. */
  attempts: number;
}

/** Before the next request. */
export function forget(facts: CallFacts): void {
  for (const fact of ofOneAnswer) delete facts[fact];
}

const ofOneAnswer = [
  'status',
  'requestId',
  'retryAfterSeconds',
  'contentType',
  'errorText'
] as const;

/** Keeps what an answer's head says. */
export function note({ status, headers }: Response, facts: CallFacts): void {
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

/** Keeps the body of an answer that is no success. */
export function noteError(text: string, facts: CallFacts): void {
  facts.errorText = text;
  // Google has no header for it.
  const [, seconds] = /"retryDelay":\s*"(\d+(?:\.\d+)?)s"/.exec(text) ?? [];
  if (seconds !== undefined) facts.retryAfterSeconds ??= Number(seconds);
}

const requestIdNames = [
  'x-request-id',
  'request-id',
  'x-correlation-id',
  'x-kong-request-id',
  'x-goog-request-id'
];

/** Seconds, from a number or a date. */
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
