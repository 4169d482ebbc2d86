import {
  type ApiEvent,
  readApiEvent
} from '../../src/core/engines/api/api-task.ts';
import { execute } from '../../src/core/engines/api/execute.ts';
import { labelOf } from '../../src/core/engines/engine-registry.ts';
import { guardEngine } from '../../src/core/engines/load/guard-engine.ts';
import {
  classifyOutcome,
  type Verdict
} from '../../src/core/runs/end/classify-outcome.ts';
import type { ApiEngine, ApiRequest, Reply } from '../../src/plugin/plugin.ts';
import { type ApiFixture, frozen, marked } from './check.ts';

export const address = 'http://127.0.0.1:9';

export function questionWith(changes: Partial<ApiRequest>): ApiRequest {
  return frozen({
    prompt: marked('prompt'),
    model: marked('model'),
    systemPrompt: marked('brief'),
    turns: [{ prompt: marked('asked'), answer: marked('answered') }],
    baseUrl: address,
    stream: true,
    ...changes
  });
}

/** What came of one call: the engine's reply, or that it rejected. */
export interface Call {
  reply?: Reply;
  error?: unknown;
  /** Address and body of each request. */
  asked: { url: string; body: string }[];
  pieces: unknown[];
}

/** Asks an engine over a `fetch` that always answers the same. */
export async function callWith(
  engine: ApiEngine,
  question: ApiRequest,
  respond: (signal: AbortSignal) => Response | Promise<Response>,
  signal: AbortSignal = new AbortController().signal
): Promise<Call> {
  const call: Call = { asked: [], pieces: [] };
  const given: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    call.asked.push({ url: request.url, body: await request.text() });
    return respond(signal);
  };
  const tools = {
    apiKey: marked('key'),
    signal,
    fetch: given,
    onText: (piece: string) => void call.pieces.push(piece)
  };
  try {
    const reply = await withoutNetwork(() => engine.generate(question, tools));
    return { ...call, reply };
  } catch (error) {
    return { ...call, error };
  }
}

/** The host would report this to its caller as the answer. */
export function isSuccess({ reply }: Call): boolean {
  return (
    reply !== undefined &&
    reply.failure === undefined &&
    reply.finished !== false &&
    typeof reply.text === 'string' &&
    reply.text.trim() !== ''
  );
}

export function responseOf({ response, stream }: ApiFixture): Response {
  const { status = 200, body, contentType } = response;
  const usual = stream === false ? 'application/json' : 'text/event-stream';
  const headers = { 'content-type': contentType ?? usual };
  return new Response(body, { status, headers });
}

/** A recorded answer on its whole way through the host. */
export async function verdictOf(
  engine: ApiEngine,
  fixture: ApiFixture
): Promise<{ verdict: Verdict; reply: Reply }> {
  const guarded = guardEngine(engine);
  if (guarded.kind !== 'api') throw new Error('no API engine');
  let reply: Reply = { text: '', finished: false };
  const write = (event: ApiEvent) => {
    reply = readApiEvent(reply, event);
  };
  const { signal } = new AbortController();
  const label = labelOf(engine);
  const request = questionWith({ stream: fixture.stream ?? true });
  const task = { v: 1 as const, engine: engine.name, label, plugin: null };
  await withFetch(
    async () => responseOf(fixture),
    () =>
      execute(
        guarded,
        { ...task, request, idleTimeoutSeconds: 0, prices: {} },
        { apiKey: marked('key'), signal, write }
      )
  );
  const verdict = classifyOutcome({
    reply,
    exitCode: 0,
    stop: undefined,
    neverStarted: false,
    errorText: '',
    strayText: '',
    classify: () => undefined,
    label
  });
  return { verdict, reply };
}

/** Only what an engine is given may leave the machine. */
function withoutNetwork<T>(run: () => Promise<T>): Promise<T> {
  const refuse = async (): Promise<never> => {
    throw new Error('generate did not use the fetch that it was given');
  };
  return withFetch(refuse, run);
}

async function withFetch<T>(
  other: typeof fetch,
  run: () => Promise<T>
): Promise<T> {
  const before = globalThis.fetch;
  globalThis.fetch = other;
  try {
    return await run();
  } finally {
    globalThis.fetch = before;
  }
}
