import type { Message } from '@anthropic-ai/sdk/resources/messages';
import type { ApiEngine, Failure, Reply } from '../src/plugin/plugin.ts';
import { messagesOf, withoutVersion } from './shared/api-requests.ts';
import { count, record, records, text, tokens } from './shared/json-fields.ts';

/** The API requires a limit; every current model accepts this one. */
const maximumTokens = 32_000;
/** The SDK's own limit would end long answers; the host has its own. */
const noTimeoutMs = 2 ** 31 - 1;

/** Set, so that no variable redirects the SDK and with it the key. */
const defaultUrl = 'https://api.anthropic.com';

/** Anthropic's models by API; for work on files there is `claude`. */
export default {
  kind: 'api',
  name: 'claude-api',
  label: 'Claude API',
  description: 'Complex reasoning and review, by Anthropic.',
  keyNames: ['ANTHROPIC_API_KEY'],
  keyUrl: 'https://platform.claude.com/settings/keys',
  models: {
    default: 'claude-sonnet-5-5',
    aliases: {
      haiku: 'claude-haiku-5-5',
      sonnet: 'claude-sonnet-5-5',
      opus: 'claude-opus-5-5'
    }
  },
  prices: 'anthropic',

  async generate(request, { apiKey, signal, fetch, onText }) {
    const { BaseAnthropic, Messages } = await import('./sdk/claude-api.ts');
    const { baseUrl } = request;
    const client = new BaseAnthropic({
      apiKey,
      fetch,
      maxRetries: 0,
      timeout: noTimeoutMs,
      // The SDK would print responses that it cannot parse.
      logLevel: 'off',
      baseURL: withoutVersion(baseUrl ?? defaultUrl, 'v1')
    });
    const messages = new Messages(client);
    const parameters = {
      model: request.model,
      max_tokens: maximumTokens,
      messages: messagesOf(request),
      ...(request.systemPrompt ? { system: request.systemPrompt } : {})
    };
    if (!request.stream)
      return readMessage(await messages.create(parameters, { signal }));
    const stream = messages.stream(parameters, { signal });
    stream.on('text', onText);
    return readMessage(await stream.finalMessage());
  }
} satisfies ApiEngine;

/** @throws TypeError if the message is not a response of this API */
function readMessage(message: Message): Reply {
  const { content, model, usage, stop_reason } = { ...message };
  if (!Array.isArray(content))
    throw new TypeError('no "content" in the response');
  const said = records(content).filter(({ type }) => type === 'text');
  const failure = failureOf(text(stop_reason));
  return {
    text: said.map((block) => text(block.text)).join(''),
    finished: text(stop_reason) !== '',
    ...(text(model) && { model }),
    ...readUsage(usage),
    ...(failure && { failure })
  };
}

function failureOf(reason: string): Failure | undefined {
  switch (reason) {
    case 'refusal':
      return {
        code: 'content_refused',
        message:
          'The model refused. Rephrase the prompt, or use another engine.'
      };
    case 'max_tokens':
      return {
        code: 'output_limit',
        message: `The model stopped before the end of its answer, at ${maximumTokens} tokens. Ask for less at once.`
      };
    case 'model_context_window_exceeded':
      return {
        code: 'context_too_long',
        message:
          'The conversation does not fit into the model. Shorten the prompt, or start a new session.'
      };
    default:
      return undefined;
  }
}

/** The API counts cached tokens separately; they are part of the prompt. */
function readUsage(value: unknown): Pick<Reply, 'usage' | 'cachedTokens'> {
  const counts = record(value);
  const cachedTokens = count(counts.cache_read_input_tokens);
  const prompt =
    count(counts.input_tokens) +
    count(counts.cache_creation_input_tokens) +
    cachedTokens;
  const usage = tokens(prompt, count(counts.output_tokens));
  return usage ? { usage, cachedTokens } : {};
}
