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
} from '../../src/plugin/plugin.ts';
import { messagesWithSystem, withVersion } from './api-requests.ts';
import {
  count,
  record,
  records,
  shortLine,
  text,
  tokens
} from './json-fields.ts';

/** The SDK's own limit would end long answers; the host has its own. */
const noTimeoutMs = 2 ** 31 - 1;

/**
 * Asks a provider that has OpenAI's Responses API. The provider stores nothing
 * (`store: false`): every turn sends the whole conversation.
 * @param defaultUrl the provider's address, unless the request has another
 */
export async function askResponses(
  request: ApiRequest,
  { apiKey, signal, fetch, onText }: ApiTools,
  defaultUrl: string
): Promise<Reply> {
  const { OpenAI } = await import('../sdk/responses-api.ts');
  const client = new OpenAI({
    apiKey,
    baseURL: withVersion(request.baseUrl ?? defaultUrl, 'v1'),
    fetch,
    maxRetries: 0,
    timeout: noTimeoutMs,
    // The SDK would print responses that it cannot parse.
    logLevel: 'off'
  });
  const parameters: ResponseCreateParams = {
    model: request.model,
    // The system prompt is a message, because xAI rejects `instructions`.
    input: messagesWithSystem(request),
    store: false
  };
  if (!request.stream)
    return readAnswer(
      await client.responses.create(
        { ...parameters, stream: false },
        { signal }
      )
    );
  const events = await client.responses.create(
    { ...parameters, stream: true },
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

/** @throws TypeError if the answer is not a response of this API */
function readAnswer(answer: Answer): Reply {
  const { status, output, model, usage, error, incomplete_details } = {
    ...answer
  };
  if (!Array.isArray(output))
    throw new TypeError('no "output" in the response');
  const parts = records(output)
    // Items of reasoning have content, too.
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
        message: `The model refused: ${shortLine(refusal, Infinity)}`
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
              'A content filter stopped the answer. Rephrase the prompt, or use another engine.'
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
  const said = shortLine(text(message), Infinity).replace(/\.$/, '');
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
  const counts = record(value);
  const usage = tokens(count(counts.input_tokens), count(counts.output_tokens));
  if (!usage) return {};
  return {
    usage: {
      ...usage,
      total_tokens: count(counts.total_tokens) || usage.total_tokens
    },
    cachedTokens: count(record(counts.input_tokens_details).cached_tokens)
  };
}
