import type { ApiEngine, ApiRequest, ApiTools, Reply } from '../../plugin.ts';
import { createRedactor } from '../audit/redact.ts';
import { type ApiEvent, type ApiTask, soFar } from './api-task.ts';
import { failureOfCall } from './call-failure.ts';
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
 * said.
 */
export async function execute(
  engine: ApiEngine,
  task: ApiTask,
  { apiKey, signal, write }: ExecuteOptions
): Promise<void> {
  const pieces = new Pieces(write);
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
  let reply: Reply;
  try {
    const onText = (piece: string) => pieces.add(piece);
    reply = checked(
      await generate(engine, request, { apiKey, signal, fetch, onText })
    );
    const costUsd = await costOf(reply, engine.prices, prices);
    if (costUsd !== undefined) reply = { ...reply, costUsd };
  } catch (error) {
    const failure = failureOfCall(error, facts, engine, label);
    reply = { text: pieces.text, finished: false, failure };
  }
  pieces.flush();
  write({ type: 'reply', reply: last(reply, pieces.text, apiKey) });
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

function last(reply: Reply, streamed: string, apiKey: string) {
  const redact = createRedactor(apiKey === '' ? [] : [apiKey]);
  const { text, failure, ...rest } = reply;
  return {
    ...rest,
    ...(failure
      ? { failure: { ...failure, message: redact(failure.message) } }
      : {}),
    ...(text === streamed ? {} : { text })
  };
}

/** Collects what streams in and puts it out now and then. */
class Pieces {
  text = '';
  readonly #write: ExecuteOptions['write'];
  #pending = '';
  #flushed = 0;

  constructor(write: ExecuteOptions['write']) {
    this.#write = write;
  }

  add(piece: string): void {
    this.text += piece;
    this.#pending += piece;
    if (performance.now() - this.#flushed >= flushMs) this.flush();
  }

  /** Bytes without text, such as thoughts, show that it is alive. */
  alive(): void {
    const silent = performance.now() - this.#flushed >= 1000;
    if (!silent || this.#pending !== '') return;
    this.#flushed = performance.now();
    const { length } = this.text;
    const text = length === 0 ? 'receiving' : soFar(length);
    this.#write({ type: 'progress', text });
  }

  flush(): void {
    if (this.#pending === '') return;
    this.#flushed = performance.now();
    this.#write({ type: 'text', piece: this.#pending });
    this.#pending = '';
  }
}
