import type { Message } from '@anthropic-ai/sdk/resources/messages';
import type { ApiEngine, Failure, Reply } from '../src/plugin.ts';
import { withoutVersion } from './base-url.ts';
import { count, record, records, text, tokens } from './json-fields.ts';
import { messagesOf } from './messages.ts';

/** The API wants a limit; this one is within that of every current model. */
const maximumTokens = 32_000;
/** The SDK's own limit would end long answers; the host has one. */
const noTimeoutMs = 2 ** 31 - 1;

/** Named, so that no variable leads the SDK and the key elsewhere. */
const usual = 'https://api.anthropic.com';

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
      // It would print what it cannot read.
      logLevel: 'off',
      baseURL: withoutVersion(baseUrl ?? usual, 'v1')
    });
    const messages = new Messages(client);
    const asked = {
      model: request.model,
      max_tokens: maximumTokens,
      messages: messagesOf(request),
      ...(request.systemPrompt ? { system: request.systemPrompt } : {})
    };
    if (!request.stream)
      return readMessage(await messages.create(asked, { signal }));
    const stream = messages.stream(asked, { signal });
    stream.on('text', onText);
    return readMessage(await stream.finalMessage());
  }
} satisfies ApiEngine;

/** @throws TypeError when it is no answer of this API */
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
        message: 'The model refused. Put it differently, or use another engine.'
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

/** Cached tokens are counted apart, but were part of the prompt. */
function readUsage(value: unknown): Pick<Reply, 'usage' | 'cachedTokens'> {
  const told = record(value);
  const cachedTokens = count(told.cache_read_input_tokens);
  const prompt =
    count(told.input_tokens) +
    count(told.cache_creation_input_tokens) +
    cachedTokens;
  const usage = tokens(prompt, count(told.output_tokens));
  return usage ? { usage, cachedTokens } : {};
}
