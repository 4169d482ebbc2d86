import type {
  Response as Answer,
  ResponseCreateParams,
  ResponseStreamEvent
} from 'openai/resources/responses/responses';
import type {
  ApiRequest,
  ApiTools,
  Failure,
  FailureCode,
  Reply
} from '../src/plugin.ts';
import { withVersion } from './base-url.ts';
import {
  count,
  oneLine,
  record,
  records,
  text,
  tokens
} from './json-fields.ts';
import { messagesWithSystem } from './messages.ts';

/** The SDK's own limit would end long answers; the host has one. */
const noTimeoutMs = 2 ** 31 - 1;

/**
 * Asks a provider that speaks OpenAI's Responses API. Nothing is stored there
 * (`store: false`): every turn sends the conversation anew.
 * @param usual where the provider is, unless the request says otherwise
 */
export async function askResponses(
  request: ApiRequest,
  { apiKey, signal, fetch, onText }: ApiTools,
  usual: string
): Promise<Reply> {
  const { OpenAI } = await import('./sdk/responses-api.ts');
  const client = new OpenAI({
    apiKey,
    baseURL: withVersion(request.baseUrl ?? usual, 'v1'),
    fetch,
    maxRetries: 0,
    timeout: noTimeoutMs,
    // It would print what it cannot read.
    logLevel: 'off'
  });
  const asked: ResponseCreateParams = {
    model: request.model,
    // The system prompt not as `instructions`: xAI refuses them.
    input: messagesWithSystem(request),
    store: false
  };
  if (!request.stream)
    return readAnswer(
      await client.responses.create({ ...asked, stream: false }, { signal })
    );
  const events = await client.responses.create(
    { ...asked, stream: true },
    { signal }
  );
  return readEvents(events, onText);
}

/** A stream that ends without its last event was cut: it is not finished. */
async function readEvents(
  events: AsyncIterable<ResponseStreamEvent>,
  onText: (piece: string) => void
): Promise<Reply> {
  let streamed = '';
  for await (const event of events) {
    switch (event.type) {
      case 'response.output_text.delta':
        streamed += event.delta;
        onText(event.delta);
        break;
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed': {
        const reply = readAnswer(event.response);
        return { ...reply, text: reply.text || streamed };
      }
      case 'error':
        return {
          text: streamed,
          finished: true,
          failure: failureOf(event.code, event.message)
        };
    }
  }
  return { text: streamed, finished: false };
}

/** @throws TypeError when it is no answer of this API */
function readAnswer(answer: Answer): Reply {
  const { status, output, model, usage, error, incomplete_details } = {
    ...answer
  };
  if (!Array.isArray(output))
    throw new TypeError('no "output" in the response');
  const parts = records(output)
    // What it thought on the way has content, too.
    .filter(({ type }) => type === 'message')
    .flatMap(({ content }) => records(content));
  const reply: Reply = {
    text: parts.map((part) => text(part.text)).join(''),
    finished: true,
    ...(text(model) && { model }),
    ...readUsage(usage)
  };
  const refusal = parts.map((part) => text(part.refusal)).find(Boolean);
  const failure = refusal
    ? {
        code: 'content_refused' as const,
        message: `The model refused: ${oneLine(refusal, Infinity)}`
      }
    : failureOfStatus(status, text(incomplete_details?.reason), error);
  return failure ? { ...reply, failure } : reply;
}

function failureOfStatus(
  status: unknown,
  reason: string,
  error: Answer['error'] | undefined
): Failure | undefined {
  switch (status) {
    case undefined:
    case 'completed':
      return undefined;
    case 'incomplete':
      return reason === 'content_filter'
        ? {
            code: 'content_refused',
            message:
              'A content filter stopped the answer. Put it differently, or use another engine.'
          }
        : {
            code: 'output_limit',
            message: `The model stopped before the end of its answer (${reason || 'no reason given'}). Ask for less at once.`
          };
    default:
      return failureOf(error?.code, error?.message);
  }
}

function failureOf(code: unknown, message: unknown): Failure {
  const said = oneLine(text(message), Infinity).replace(/\.$/, '');
  return {
    code: codes.get(text(code)) ?? 'provider_error',
    message: `The provider failed while answering: ${said || 'no reason given'}. Spawn it again a little later.`
  };
}

const codes = new Map<string, FailureCode>([
  ['rate_limit_exceeded', 'rate_limited'],
  ['insufficient_quota', 'quota'],
  ['context_length_exceeded', 'context_too_long']
]);

function readUsage(value: unknown): Pick<Reply, 'usage' | 'cachedTokens'> {
  const told = record(value);
  const usage = tokens(count(told.input_tokens), count(told.output_tokens));
  if (!usage) return {};
  return {
    usage: {
      ...usage,
      total_tokens: count(told.total_tokens) || usage.total_tokens
    },
    cachedTokens: count(record(told.input_tokens_details).cached_tokens)
  };
}
