import type { ApiEngine, ApiTools, Failure, Reply } from '../src/plugin.ts';
import { withoutVersion } from './base-url.ts';
import { count, record, records, text, tokens } from './json-fields.ts';
import { messagesWithSystem } from './messages.ts';

/** Named, so that no variable leads the SDK and the key elsewhere. */
const usual = 'https://api.mistral.ai';

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
        fetcher: tellingErrors(fetch, EventStream)
      }),
      serverURL: withoutVersion(baseUrl ?? usual, 'v1')
    });
    const asked = {
      model: request.model,
      messages: messagesWithSystem(request)
    };
    const options = { fetchOptions: { signal } };
    if (!request.stream) {
      const answer = unwrapAsync(chatComplete(client, asked, options));
      return readPart(
        empty,
        await answer.catch((error) => bodyOf(error, ResponseValidationError))
      );
    }
    const parts = await unwrapAsync(chatStream(client, asked, options));
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
 * An answer that the SDK does not take, as it came: servers in Mistral's
 * place leave out what it insists on, such as `usage`.
 * @throws the SDK's error, or the provider's own, when it is no answer
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
 * A stream that breaks with the provider's words where it tells an error: the
 * SDK takes that for a piece that is spoilt, and drops what it says.
 */
function tellingErrors(
  fetch: ApiTools['fetch'],
  EventStream: Sdk['EventStream']
): ApiTools['fetch'] {
  const encoder = new TextEncoder();
  return async (...asked) => {
    const response = await fetch(...asked);
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
      // What is read ahead would be lost when it breaks.
      { highWaterMark: 0 }
    );
    return new Response(written, response);
  };
}

function eventOf(data: string): string {
  const lines = data.split('\n').map((line) => `data: ${line}\n`);
  return `${lines.join('')}\n`;
}

/** In the form of Mistral, or of those who speak as OpenAI. */
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
 * A whole completion (`message`), or a piece of one (`delta`), in the names of
 * the SDK or of the wire.
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

/** A text, or a list of parts of which only some are text. */
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
        message: `${cut} Put it differently, or use another engine.`
      }
    : { code: 'provider_error', message: `${cut} Spawn it again.` };
}

function readUsage(value: unknown): Pick<Reply, 'usage'> {
  const told = record(value);
  const usage = tokens(
    count(told.promptTokens ?? told.prompt_tokens),
    count(told.completionTokens ?? told.completion_tokens)
  );
  return usage ? { usage } : {};
}
