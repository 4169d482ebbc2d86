import type {
  Content,
  FinishReason,
  GenerateContentParameters,
  GenerateContentResponse
} from '@google/genai/web';
import type {
  ApiEngine,
  ApiRequest,
  Failure,
  Reply
} from '../src/plugin/plugin.ts';
import { splitVersion } from './shared/api-requests.ts';
import { count, record, records, text, tokens } from './shared/json-fields.ts';

/** Set, so that no variable redirects the SDK and with it the key. */
const defaultUrl = 'https://generativelanguage.googleapis.com';

/** Google's models by API; for work on files there is `gemini-cli`. */
export default {
  kind: 'api',
  name: 'gemini',
  label: 'Gemini',
  description: 'Long context, analysis and research, by Google.',
  keyNames: ['GEMINI_API_KEY', 'GOOGLE_API_KEY', 'GOOGLE_AI_KEY'],
  keyUrl: 'https://aistudio.google.com/apikey',
  models: {
    default: 'gemini-3.8-flash',
    aliases: {
      pro: 'gemini-3.1-pro-preview',
      flash: 'gemini-3.8-flash',
      'flash-lite': 'gemini-3.5-flash-lite'
    },
    retired: {
      'gemini-2.0-flash': 'gemini-3.8-flash',
      'gemini-1.5-flash': 'gemini-3.8-flash',
      'gemini-1.5-pro': 'gemini-3.1-pro-preview'
    }
  },
  prices: 'google',

  async generate(request, { apiKey, signal, fetch, onText }) {
    const { GoogleGenAI } = await import('./sdk/gemini.ts');
    const { baseUrl } = request;
    const { models } = new GoogleGenAI({
      apiKey,
      httpOptions: {
        fetch: withPlainEvents(fetch),
        ...splitVersion(baseUrl ?? defaultUrl)
      }
    });
    const parameters: GenerateContentParameters = {
      model: request.model,
      contents: contentsOf(request),
      config: {
        abortSignal: signal,
        ...(request.systemPrompt
          ? { systemInstruction: request.systemPrompt }
          : {})
      }
    };
    if (!request.stream)
      return readPart(empty, await models.generateContent(parameters));
    let reply = empty;
    for await (const part of await models.generateContentStream(parameters)) {
      reply = readPart(reply, part);
      onText(saidIn(part));
    }
    return reply;
  },

  failure: (said) => {
    if (/api key not valid|API_KEY_INVALID/i.test(said)) return 'auth';
    return /token count.*exceeds/i.test(said) ? 'context_too_long' : undefined;
  }
} satisfies ApiEngine;

const empty: Reply = { text: '', finished: false };

function contentsOf({ turns, prompt }: ApiRequest): Content[] {
  return [
    ...turns.flatMap((turn) => [
      { role: 'user', parts: [{ text: turn.prompt }] },
      { role: 'model', parts: [{ text: turn.answer }] }
    ]),
    { role: 'user', parts: [{ text: prompt }] }
  ];
}

/** Reads a whole answer or a piece of one: both have the same form. */
function readPart(reply: Reply, part: GenerateContentResponse): Reply {
  const finish = part.candidates?.[0]?.finishReason;
  const blocked = part.promptFeedback?.blockReason;
  const failure = blocked
    ? refused(`Google blocked the prompt (${blocked}).`)
    : failureOf(finish);
  const model = text(part.modelVersion);
  return {
    ...reply,
    text: reply.text + saidIn(part),
    finished: reply.finished || Boolean(finish || blocked),
    ...(model && { model }),
    ...readUsage(part.usageMetadata),
    ...(failure && { failure })
  };
}

function saidIn({ candidates }: GenerateContentResponse): string {
  const [candidate] = records(candidates);
  return records(record(candidate?.content).parts)
    .filter(({ thought }) => thought !== true)
    .map((piece) => text(piece.text))
    .join('');
}

function failureOf(finish: FinishReason | undefined): Failure | undefined {
  if (finish === undefined || text(finish) === 'STOP') return undefined;
  const cut = `Gemini stopped before the end of its answer (${finish}).`;
  if (text(finish) === 'MAX_TOKENS')
    return { code: 'output_limit', message: `${cut} Ask for less at once.` };
  return ofContent.test(finish)
    ? refused(cut)
    : { code: 'provider_error', message: `${cut} Spawn it again.` };
}

const ofContent = /SAFETY|RECITATION|BLOCKLIST|PROHIBITED|SPII|LANGUAGE/;

function refused(what: string): Failure {
  const message = `${what} Rephrase the prompt, or use another engine.`;
  return { code: 'content_refused', message };
}

/** The API counts thoughts separately; they are completion tokens, too. */
function readUsage(value: unknown): Pick<Reply, 'usage' | 'cachedTokens'> {
  const counts = record(value);
  const usage = tokens(
    count(counts.promptTokenCount),
    count(counts.candidatesTokenCount) + count(counts.thoughtsTokenCount)
  );
  const cachedTokens = count(counts.cachedContentTokenCount);
  return usage ? { usage, cachedTokens } : {};
}

/**
 * Wraps `fetch` to remove the lines of event streams that Google's SDK does not
 * understand. The SDK reads text only from events that start with `data:`, so a
 * comment or a name that a gateway adds would lose a piece of the answer.
 */
export function withPlainEvents(
  fetch: typeof globalThis.fetch
): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    const { body, headers, status, statusText } = response;
    const isStream = /^text\/event-stream/i.test(
      headers.get('content-type') ?? ''
    );
    if (!body || !isStream) return response;
    const plain = body
      .pipeThrough(new TextDecoderStream())
      .pipeThrough(plainEvents())
      .pipeThrough(new TextEncoderStream());
    return new Response(plain, { status, statusText, headers });
  };
}

/** Passes a truncated event on unchanged, so that the SDK detects it. */
function plainEvents(): TransformStream<string, string> {
  let rest = '';
  return new TransformStream({
    transform(piece, controller) {
      const events = (rest + piece).split(endOfEvent);
      rest = events.pop() ?? '';
      for (const event of events) controller.enqueue(plainEvent(event));
    },
    flush(controller) {
      if (rest.trim() !== '') controller.enqueue(rest);
    }
  });
}

const endOfEvent = /\r\n\r\n|\n\n|\r\r/;

function plainEvent(event: string): string {
  const lines = event
    .split(/\r\n|\n|\r/)
    .filter((line) => !/^($|:|event:|id:|retry:)/.test(line));
  const [first = '', ...others] = lines;
  // Joins the data lines of an event with spaces, which JSON also allows.
  const more = others.map((line) => line.replace(/^data:/, ''));
  return `${[first, ...more].join(' ')}\n\n`;
}
