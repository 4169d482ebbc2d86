import type {
  ApiEngine,
  ApiTools,
  Failure,
  Reply
} from '../src/plugin/plugin.ts';
import { messagesWithSystem, withoutVersion } from './shared/api-requests.ts';
import { count, record, records, text, tokens } from './shared/json-fields.ts';

/** Set, so that no variable redirects the SDK and with it the key. */
const defaultUrl = 'https://api.mistral.ai';

/** Mistral's models. */
export default {
  kind: 'api',
  name: 'mistral',
  label: 'Mistral',
  description: 'Code analysis and European compliance, by Mistral.',
  keyNames: ['MISTRAL_API_KEY'],
  keyUrl: 'https://console.mistral.ai/api-keys',
  models: {
    default: 'mistral-large-latest',
    aliases: {
      large: 'mistral-large-latest',
      medium: 'mistral-medium-latest',
      small: 'mistral-small-latest',
      codestral: 'codestral-latest'
    },
    retired: { 'open-mistral-nemo': 'mistral-small-latest' }
  },
  prices: 'mistral',

  async generate(request, { apiKey, signal, fetch, onText }) {
    const {
      chatComplete,
      chatStream,
      EventStream,
      HTTPClient,
      MistralCore,
      ResponseValidationError,
      unwrapAsync
    } = await import('./sdk/mistral.ts');
    const { baseUrl } = request;
    const client = new MistralCore({
      apiKey,
      httpClient: new HTTPClient({
        fetcher: throwingErrors(fetch, EventStream)
      }),
      serverURL: withoutVersion(baseUrl ?? defaultUrl, 'v1')
    });
    const parameters = {
      model: request.model,
      messages: messagesWithSystem(request)
    };
    const options = { fetchOptions: { signal } };
    if (!request.stream) {
      const answer = unwrapAsync(chatComplete(client, parameters, options));
      return readPart(
        empty,
        await answer.catch((error) => bodyOf(error, ResponseValidationError))
      );
    }
    const parts = await unwrapAsync(chatStream(client, parameters, options));
    let reply = empty;
    for await (const { data } of parts) {
      reply = readPart(reply, data);
      onText(saidIn(data));
    }
    return reply;
  }
} satisfies ApiEngine;

type Sdk = typeof import('./sdk/mistral.ts');

/**
 * The body of an answer that the SDK rejects: compatible servers omit fields
 * that the SDK requires, such as `usage`.
 * @throws the SDK's error or the provider's own, if the body is no answer
 */
function bodyOf(
  error: unknown,
  ResponseValidationError: Sdk['ResponseValidationError']
): unknown {
  if (!(error instanceof ResponseValidationError)) throw error;
  const body: unknown = error.rawValue;
  if (isError(body)) throw new Error(JSON.stringify(body));
  if (records(record(body).choices).length === 0) throw error;
  return body;
}

/**
 * Wraps `fetch` so that an error event fails the stream with the provider's
 * message. The SDK would treat it as an invalid chunk and drop the message.
 */
function throwingErrors(
  fetch: ApiTools['fetch'],
  EventStream: Sdk['EventStream']
): ApiTools['fetch'] {
  const encoder = new TextEncoder();
  return async (...parameters) => {
    const response = await fetch(...parameters);
    const { body, headers } = response;
    const type = headers.get('content-type') ?? '';
    if (!body || !/^text\/event-stream/i.test(type)) return response;
    const events = new EventStream(body, ({ data = '' }) => {
      if (isError(parsed(data))) throw new Error(data);
      return { done: false, value: { data } };
    }).getReader();
    const written = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          const { done, value } = await events.read();
          if (done) controller.close();
          else controller.enqueue(encoder.encode(eventOf(value.data)));
        },
        cancel: (reason) => events.cancel(reason)
      },
      // Events that were read ahead would be lost when the stream fails.
      { highWaterMark: 0 }
    );
    return new Response(written, response);
  };
}

function eventOf(data: string): string {
  const lines = data.split('\n').map((line) => `data: ${line}\n`);
  return `${lines.join('')}\n`;
}

/** Errors in the form of Mistral or of OpenAI-compatible servers. */
function isError(value: unknown): boolean {
  const { error, object } = record(value);
  return Boolean(error) || object === 'error';
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const empty: Reply = { text: '', finished: false };

/**
 * Reads a whole completion (`message`) or a piece of one (`delta`), with the
 * field names of the SDK or of the API.
 */
function readPart(reply: Reply, value: unknown): Reply {
  const part = record(value);
  const [choice = {}] = records(part.choices);
  const finish = text(choice.finishReason ?? choice.finish_reason);
  const failure = failureOf(finish);
  const model = text(part.model);
  return {
    ...reply,
    text: reply.text + saidIn(part),
    finished: reply.finished || finish !== '',
    ...(model && { model }),
    ...readUsage(part.usage),
    ...(failure && { failure })
  };
}

/** The content is a text, or a list of parts of which some are text. */
function saidIn(part: unknown): string {
  const [choice = {}] = records(record(part).choices);
  const { content } = record(choice.message ?? choice.delta);
  if (typeof content === 'string') return content;
  return records(content)
    .filter(({ type }) => type === 'text')
    .map((part) => text(part.text))
    .join('');
}

function failureOf(finish: string): Failure | undefined {
  if (finish === '' || finish === 'stop') return undefined;
  const cut = `Mistral stopped before the end of its answer (${finish}).`;
  if (/length/.test(finish))
    return { code: 'output_limit', message: `${cut} Ask for less at once.` };
  return /filter/.test(finish)
    ? {
        code: 'content_refused',
        message: `${cut} Rephrase the prompt, or use another engine.`
      }
    : { code: 'provider_error', message: `${cut} Spawn it again.` };
}

function readUsage(value: unknown): Pick<Reply, 'usage'> {
  const counts = record(value);
  const usage = tokens(
    count(counts.promptTokens ?? counts.prompt_tokens),
    count(counts.completionTokens ?? counts.completion_tokens)
  );
  return usage ? { usage } : {};
}
