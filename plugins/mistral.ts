import type { ApiEngine, Failure, Reply } from '../src/plugin.ts';
import { withoutVersion } from './base-url.ts';
import { count, record, records, text, tokens } from './json-fields.ts';
import { messagesWithSystem } from './messages.ts';

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
    const { chatComplete, chatStream, HTTPClient, MistralCore, unwrapAsync } =
      await import('./sdk/mistral.ts');
    const { baseUrl } = request;
    const client = new MistralCore({
      apiKey,
      httpClient: new HTTPClient({ fetcher: fetch }),
      ...(baseUrl ? { serverURL: withoutVersion(baseUrl, 'v1') } : {})
    });
    const asked = {
      model: request.model,
      messages: messagesWithSystem(request)
    };
    const options = { fetchOptions: { signal } };
    if (!request.stream)
      return readPart(
        empty,
        await unwrapAsync(chatComplete(client, asked, options))
      );
    const parts = await unwrapAsync(chatStream(client, asked, options));
    let reply = empty;
    for await (const { data } of parts) {
      reply = readPart(reply, data);
      onText(saidIn(data));
    }
    return reply;
  }
} satisfies ApiEngine;

const empty: Reply = { text: '', finished: false };

/** A whole completion (`message`), or a piece of one (`delta`). */
function readPart(reply: Reply, value: unknown): Reply {
  const part = record(value);
  const [choice = {}] = records(part.choices);
  const finish = text(choice.finishReason);
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
  const { promptTokens, completionTokens } = record(value);
  const usage = tokens(count(promptTokens), count(completionTokens));
  return usage ? { usage } : {};
}
