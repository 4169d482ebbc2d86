import type {
  ApiEngine,
  ApiRequest,
  ApiTools,
  Reply
} from '../../../plugin/plugin.ts';
import { createRedactor } from '../../audit/redaction/redact.ts';
import { catchEngineFault, EngineFault } from '../failures.ts';
import { costOf } from '../price.ts';
import type { ApiEvent, ApiTask } from './api-task.ts';
import { failureOfCall } from './call-failure.ts';
import { createProviderFetch } from './provider-fetch.ts';

/** Streamed text is flushed at this interval: one line per token costs more. */
const flushMs = 200;
/** A fast provider sends 50 MB in that interval; this much is flushed at once. */
const flushChars = 64 * 1024;
/** Readers ignore a line above 32 MB, so a longer text is in several lines. */
const pieceChars = 1024 * 1024;

interface ExecuteOptions {
  apiKey: string;
  signal: AbortSignal;
  write: (event: ApiEvent) => void;
  /** Delays the reading of an answer that is written faster than it is kept. */
  roomForMore?: () => Promise<void>;
}

/**
 * Sends one request to an API engine and writes its progress and its reply.
 * Never rejects: a failed call is a reply with a failure. The key is redacted
 * from the failure's message.
 */
export async function execute(
  engine: ApiEngine,
  task: ApiTask,
  { apiKey, signal, write, roomForMore }: ExecuteOptions
): Promise<void> {
  const buffer = new TextBuffer(write);
  signal.addEventListener('abort', () => buffer.flush());
  const { fetch, facts } = createProviderFetch({
    signal,
    idleMs: task.idleTimeoutSeconds * 1000,
    ...(roomForMore ? { roomForMore } : {}),
    onActivity: () => buffer.reportActivity(),
    onRetry: (why, waitMs) => {
      const seconds = Math.ceil(waitMs / 100) / 10;
      const text = `again in ${seconds} s after ${why}`;
      write({ type: 'progress', text });
    }
  });
  const { label, request, prices } = task;
  const redact = createRedactor(apiKey === '' ? [] : [apiKey]);
  const failureOf = (error: unknown) =>
    catchEngineFault(
      () => {
        if (error instanceof EngineFault) throw error;
        return failureOfCall(error, { facts, engine, label, redact });
      },
      ({ failure }) => failure
    );
  let reply: Reply;
  try {
    const onText = (piece: string) => buffer.add(piece);
    reply = checked(
      await generate(engine, request, { apiKey, signal, fetch, onText })
    );
    if (!reply.finished && !reply.failure)
      reply.failure = failureOf(new Error('its final event is missing'));
  } catch (error) {
    const failure = failureOf(error);
    reply = { text: buffer.text, finished: false, failure };
  }
  const costUsd = await costOf(reply, engine.prices, prices);
  if (reply.text.length > pieceChars && reply.text.startsWith(buffer.text))
    buffer.add(reply.text.slice(buffer.text.length));
  buffer.flush();
  const { text, failure, ...rest } = reply;
  write({
    type: 'reply',
    reply: {
      ...rest,
      ...(costUsd === undefined ? {} : { costUsd }),
      ...(failure && {
        failure: { ...failure, message: cut(redact(failure.message)) }
      }),
      ...(text === buffer.text ? {} : { text })
    }
  });
}

/**
 * Calls the engine. If the provider answers a streaming request with a single
 * JSON body, the engine reads that body in a second, non-streaming call.
 */
async function generate(
  engine: ApiEngine,
  request: ApiRequest,
  tools: ApiTools
): Promise<Reply> {
  if (!request.stream) return engine.generate(request, tools);
  let whole: Response | undefined;
  const streaming: typeof fetch = async (input, init) => {
    const response = await tools.fetch(input, init);
    const type = response.headers.get('content-type') ?? '';
    if (!response.ok || !/^application\/json\b/i.test(type)) return response;
    whole = response;
    throw new Error('the answer is not a stream');
  };
  try {
    return await engine.generate(request, { ...tools, fetch: streaming });
  } catch (error) {
    const body = whole;
    if (!body) throw error;
    const rest = { ...tools, fetch: async () => body };
    return engine.generate({ ...request, stream: false }, rest);
  }
}

/** @throws TypeError when the plugin returned no text */
function checked(reply: Reply): Reply {
  const text: unknown = reply?.text;
  if (typeof text !== 'string')
    throw new TypeError('the engine returned no text');
  // `finished` is optional and defaults to true.
  return { ...reply, finished: reply.finished !== false };
}

/** Call this after redaction: the redactor does not recognize half a key. */
function cut(message: string): string {
  return message.length > 1000 ? `${message.slice(0, 999)}…` : message;
}

/** Buffers streamed text and flushes it after a short delay or when it is long. */
class TextBuffer {
  text = '';
  readonly #write: ExecuteOptions['write'];
  #pending = '';
  #writtenAt = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(write: ExecuteOptions['write']) {
    this.#write = write;
  }

  add(piece: string): void {
    this.text += piece;
    this.#pending += piece;
    if (this.#pending.length > flushChars) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), flushMs);
  }

  /** Reports bytes without text, such as reasoning, at most once a second. */
  reportActivity(): void {
    const silent = performance.now() - this.#writtenAt >= 1000;
    if (!silent || this.#pending !== '') return;
    this.#writtenAt = performance.now();
    this.#write(
      this.text === ''
        ? { type: 'progress', text: 'receiving' }
        : { type: 'text', piece: '' }
    );
  }

  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#pending === '') return;
    this.#writtenAt = performance.now();
    for (let from = 0; from < this.#pending.length; from += pieceChars) {
      const piece = this.#pending.slice(from, from + pieceChars);
      this.#write({ type: 'text', piece });
    }
    this.#pending = '';
  }
}
