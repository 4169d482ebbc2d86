import type { ApiEngine, ApiRequest, ApiTools, Reply } from '../../plugin.ts';
import { createRedactor } from '../audit/redact.ts';
import { type ApiEvent, type ApiTask, soFar } from './api-task.ts';
import { failureOfCall } from './call-failure.ts';
import { EngineFault, unlessAtFault } from './engine-fault.ts';
import { costOf } from './price.ts';
import { createProviderFetch } from './provider-fetch.ts';

/** Pieces are put out together, so that a token is not a line. */
const flushMs = 200;

export interface ExecuteOptions {
  apiKey: string;
  signal: AbortSignal;
  write: (event: ApiEvent) => void;
}

/**
 * Asks an API engine once and puts out how it goes. Never rejects: a failed
 * call is a reply with a failure. The key stays out of everything that is
 * said of it.
 */
export async function execute(
  engine: ApiEngine,
  task: ApiTask,
  { apiKey, signal, write }: ExecuteOptions
): Promise<void> {
  const pieces = new Pieces(write);
  signal.addEventListener('abort', () => pieces.flush());
  const { fetch, facts } = createProviderFetch({
    signal,
    idleMs: task.idleTimeoutSeconds * 1000,
    onActivity: () => pieces.alive(),
    onRetry: (why, waitMs) => {
      const seconds = Math.ceil(waitMs / 100) / 10;
      const text = `again in ${seconds} s after ${why}`;
      write({ type: 'progress', text });
    }
  });
  const { label, request, prices } = task;
  const redact = createRedactor(apiKey === '' ? [] : [apiKey]);
  const failureOf = (error: unknown) =>
    unlessAtFault(
      () => {
        if (error instanceof EngineFault) throw error;
        return failureOfCall(error, { facts, engine, label, redact });
      },
      ({ failure }) => failure
    );
  let reply: Reply;
  try {
    const onText = (piece: string) => pieces.add(piece);
    reply = checked(
      await generate(engine, request, { apiKey, signal, fetch, onText })
    );
    if (!reply.finished && !reply.failure)
      reply.failure = failureOf(new Error('its final event is missing'));
  } catch (error) {
    const failure = failureOf(error);
    reply = { text: pieces.text, finished: false, failure };
  }
  const costUsd = await costOf(reply, engine.prices, prices);
  pieces.flush();
  const { text, failure, ...rest } = reply;
  write({
    type: 'reply',
    reply: {
      ...rest,
      ...(costUsd === undefined ? {} : { costUsd }),
      ...(failure && {
        failure: { ...failure, message: cut(redact(failure.message)) }
      }),
      ...(text === pieces.text ? {} : { text })
    }
  });
}

/**
 * Asks the engine. An address that was asked to stream and sends one JSON
 * body instead is taken at its word: the engine reads that same body whole.
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

/**
 * A plugin's answer as it should be.
 * @throws Error that names what is wrong with it
 */
function checked(reply: Reply): Reply {
  const text: unknown = reply?.text;
  if (typeof text !== 'string')
    throw new TypeError('the engine gave no text back');
  // What came back without a word on it has ended.
  return { ...reply, finished: reply.finished !== false };
}

/** Only after redaction: half a key is not known as one. */
function cut(message: string): string {
  return message.length > 1000 ? `${message.slice(0, 999)}…` : message;
}

/** Collects what streams in and puts it out a moment later. */
class Pieces {
  text = '';
  readonly #write: ExecuteOptions['write'];
  #pending = '';
  #told = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(write: ExecuteOptions['write']) {
    this.#write = write;
  }

  add(piece: string): void {
    if (piece === '') return;
    this.text += piece;
    this.#pending += piece;
    this.#timer ??= setTimeout(() => this.flush(), flushMs);
  }

  /** Bytes without text, such as thoughts, show that it is alive. */
  alive(): void {
    const silent = performance.now() - this.#told >= 1000;
    if (!silent || this.#pending !== '') return;
    this.#told = performance.now();
    const { length } = this.text;
    const text = length === 0 ? 'receiving' : soFar(length);
    this.#write({ type: 'progress', text });
  }

  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#pending === '') return;
    this.#told = performance.now();
    this.#write({ type: 'text', piece: this.#pending });
    this.#pending = '';
  }
}
