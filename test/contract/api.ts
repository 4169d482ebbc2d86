import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { guardEngine } from '../../src/core/engines/load/guard-engine.ts';
import type { ApiEngine } from '../../src/plugin/plugin.ts';
import type { ApiFixture, Check } from './check.ts';
import { marked } from './check.ts';
import {
  address,
  callWith,
  isSuccess,
  questionWith,
  responseOf
} from './provider.ts';

/** How an engine asks a provider, and what it makes of the answer. */
export function apiChecks(engine: ApiEngine, all: ApiFixture[]): Check[] {
  return [
    {
      title: 'names its keys as variables are named, each once',
      run: () => {
        const { keyNames } = engine;
        for (const name of keyNames) assert.match(name, /^[A-Za-z_]\w*$/);
        assert.equal(new Set(keyNames).size, keyNames.length);
      }
    },
    {
      title: 'asks once, by the fetch it is given, at the address it is given',
      run: async () => {
        for (const stream of [true, false]) {
          const { asked } = await ask(engine, stream, refusal);
          assert.equal(asked.length, 1, 'requests; leave retries to the host');
          for (const { url } of asked)
            assert.ok(url.startsWith(address), `${url} is not at baseUrl`);
        }
      }
    },
    {
      title: 'lets no variable lead it to another address',
      run: async () => {
        for (const stream of [true, false])
          assert.deepEqual(
            await addressesWith(engine, stream, otherAddresses(engine)),
            await addressesWith(engine, stream, []),
            'where it asks depends on the environment'
          );
      }
    },
    {
      title: 'passes on all that is asked: model, prompts and earlier turns',
      run: async () => {
        const { asked } = await ask(engine, true, refusal);
        const said = asked.map(({ url, body }) => `${url} ${body}`).join();
        for (const what of ['prompt', 'brief', 'asked', 'answered', 'model'])
          assert.ok(
            said.includes(marked(what)),
            `${what} is not in the request`
          );
      }
    },
    {
      title: 'ends when it is aborted',
      run: async () => {
        await assertEndsWhenAborted(engine, true);
        await assertEndsWhenAborted(engine, false);
      }
    },
    {
      title: 'takes no error and no other page for an answer',
      run: async () => {
        for (const stream of [true, false])
          for (const respond of nonsense) {
            const call = await ask(engine, stream, respond);
            const { status } = respond();
            assert.ok(!isSuccess(call), `status ${status} is a success`);
          }
      }
    },
    {
      title: 'takes no answer that is cut off for a success',
      run: async () => {
        for (const fixture of all) await assertNoCutIsWhole(engine, fixture);
      }
    },
    {
      title: 'gives back whole replies, without its key',
      run: async () => {
        for (const fixture of all) {
          const guarded = guardEngine(engine);
          if (guarded.kind !== 'api') return;
          const stream = fixture.stream ?? true;
          const call = await ask(guarded, stream, () => responseOf(fixture));
          const said = JSON.stringify([call.reply, call.pieces]);
          assert.ok(!said.includes(marked('key')), 'the key is in the reply');
          assert.doesNotMatch(String(call.error), /is at fault/);
        }
      }
    }
  ];
}

function ask(engine: ApiEngine, stream: boolean, respond: () => Response) {
  return callWith(engine, questionWith({ stream }), respond);
}

/** What SDKs read when they are given no address. */
function otherAddresses({ keyNames }: ApiEngine): string[] {
  const own = keyNames.map((name) => name.replace(/_API_KEY$/, ''));
  const makers = ['OPENAI', 'ANTHROPIC', 'GOOGLE_GEMINI', 'GOOGLE_VERTEX'];
  return [...makers, ...own].flatMap((maker) =>
    ['BASE_URL', 'API_BASE', 'SERVER_URL'].map((end) => `${maker}_${end}`)
  );
}

/** Where an engine asks that is given no address. */
async function addressesWith(
  engine: ApiEngine,
  stream: boolean,
  variables: string[]
): Promise<string[]> {
  const before = variables.map((name) => [name, process.env[name]] as const);
  try {
    for (const name of variables) process.env[name] = elsewhere;
    const { baseUrl, ...question } = questionWith({ stream });
    const { asked } = await callWith(engine, question, refusal);
    return asked.map(({ url }) => url);
  } finally {
    for (const [name, value] of before)
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
  }
}

const elsewhere = 'http://127.0.0.1:10';

function refusal(): Response {
  return json(500, { error: { message: 'down', code: 500 } });
}

function json(status: number, body: unknown): Response {
  const headers = { 'content-type': 'application/json' };
  return new Response(JSON.stringify(body), { status, headers });
}

function page(type: string, body: string, status = 200): Response {
  return new Response(body, { status, headers: { 'content-type': type } });
}

const nonsense = [
  refusal,
  ...[400, 401, 403, 404, 429, 503].map(
    (status) => () => json(status, { error: { message: 'no', type: 'x' } })
  ),
  () => page('text/html', '<html><body>Sign in</body></html>'),
  () => page('text/html', '<html><body>Bad gateway</body></html>', 502),
  () => page('application/json', ''),
  () => page('application/json', '{'),
  () => json(200, {}),
  () => json(200, null),
  () => page('text/event-stream', ''),
  () => page('text/event-stream', 'data: {}\n\n'),
  () => page('text/event-stream', 'data: [DONE]\n\n')
];

/** Longer than any engine needs on a busy machine. */
const patienceMs = 20_000;

async function assertEndsWhenAborted(
  engine: ApiEngine,
  stream: boolean
): Promise<void> {
  const stop = new AbortController();
  const done = new AbortController();
  const call = callWith(
    engine,
    questionWith({ stream }),
    (signal) => {
      setImmediate(() => stop.abort(new Error('stopped')));
      return untilAborted(signal);
    },
    stop.signal
  );
  const late = delay(patienceMs, undefined, { signal: done.signal });
  const ended = await Promise.race([call, late.catch(() => undefined)]);
  done.abort();
  assert.ok(ended, 'generate goes on after its signal was aborted');
  assert.ok(!isSuccess(ended), 'an aborted call is a success');
}

/** As the host's fetch does, whether it was given the signal or not. */
function untilAborted(signal: AbortSignal): Promise<Response> {
  return new Promise((_, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop);
  });
}

async function assertNoCutIsWhole(
  engine: ApiEngine,
  fixture: ApiFixture
): Promise<void> {
  const stream = fixture.stream ?? true;
  const whole = await ask(engine, stream, () => responseOf(fixture));
  if (!isSuccess(whole)) return;
  const { body } = fixture.response;
  const step = Math.max(1, Math.ceil(body.length / 40));
  for (let length = 0; length < body.length; length += step) {
    const response = { ...fixture.response, body: body.slice(0, length) };
    const cut = await ask(engine, stream, () =>
      responseOf({ ...fixture, response })
    );
    assert.ok(
      !isSuccess(cut) || cut.reply?.text === whole.reply?.text,
      `the first ${length} characters of ${fixture.case} are a whole answer: ${JSON.stringify(cut.reply)}`
    );
  }
}
