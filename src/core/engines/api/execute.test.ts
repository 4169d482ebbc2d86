import { expect, test } from 'vitest';
import type { ApiEngine, Reply } from '../../../plugin/plugin.ts';
import { type ApiEvent, type ApiTask, readApiEvent } from './api-task.ts';
import { execute } from './execute.ts';

type Generate = ApiEngine['generate'];

const apiKey = 'the-secret-key';

const task: ApiTask = {
  v: 1,
  engine: 'x',
  label: 'X',
  plugin: null,
  request: { prompt: 'Hi', model: 'm', turns: [], stream: true },
  idleTimeoutSeconds: 0,
  prices: { m: { input: 1, output: 2 } }
};

/** The events of an engine, and the resulting reply. */
async function run(generate: Generate, stop = new AbortController()) {
  const events: ApiEvent[] = [];
  const engine: ApiEngine = {
    kind: 'api',
    name: 'x',
    description: '',
    keyNames: [],
    generate
  };
  await execute(engine, task, {
    apiKey,
    signal: stop.signal,
    write: (event) => events.push(event)
  });
  const empty: Reply = { text: '', finished: false };
  return { events, reply: events.reduce(readApiEvent, empty) };
}

const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

test('pieces are batched and not repeated at the end', async () => {
  const { events, reply } = await run(async (_request, { onText }) => {
    for (const piece of ['On', 'ce', ' up', 'on']) onText(piece);
    return { text: 'Once upon', finished: true };
  });
  expect(events).toEqual([
    { type: 'text', piece: 'Once upon' },
    { type: 'reply', reply: { finished: true } }
  ]);
  expect(reply).toMatchObject({ text: 'Once upon', finished: true });
});

test('long text is flushed at once, so that little is in memory', async () => {
  const piece = 'a'.repeat(1000);
  const { events, reply } = await run(async (_request, { onText }) => {
    for (let pieces = 0; pieces < 200; pieces += 1) onText(piece);
    return { text: piece.repeat(200), finished: true };
  });
  const lengths = events.flatMap((event) =>
    event.type === 'text' ? [event.piece.length] : []
  );
  expect(lengths).toEqual([66_000, 66_000, 66_000, 2000]);
  expect(reply.text).toHaveLength(200_000);
});

test.each([
  ['at once', ''],
  ['as one piece', '😀'.repeat(4_000_000)],
  ['with its beginning streamed', '😀']
])('no line is too long to be read: a long text %s', async (_, streamed) => {
  const text = '😀'.repeat(4_000_000);
  const { events, reply } = await run(async (_request, { onText }) => {
    if (streamed !== '') onText(streamed);
    return { text, finished: true };
  });
  const lengths = events.map((event) => JSON.stringify(event).length);
  expect(Math.max(...lengths)).toBeLessThan(2 * 1024 * 1024);
  expect(reply.text === text).toBe(true);
});

test('the final text takes precedence over different pieces', async () => {
  const { reply } = await run(async (_request, { onText }) => {
    onText('Onze');
    return { text: 'Once', finished: true, model: 'm', usage };
  });
  expect(reply).toMatchObject({ text: 'Once', usage, costUsd: 0.00002 });
});

test('an abort flushes pending text at once', async () => {
  const stop = new AbortController();
  const { events } = await run(async (_request, { onText, signal }) => {
    onText('half');
    stop.abort(new Error('stopped'));
    return Promise.reject(signal.reason);
  }, stop);
  expect(events[0]).toEqual({ type: 'text', piece: 'half' });
});

test('pieces before an error are kept', async () => {
  const { reply } = await run(async (_request, { onText }) => {
    onText('half');
    throw new Error('It broke');
  });
  expect(reply).toMatchObject({
    text: 'half',
    finished: false,
    failure: {
      code: 'spawn_failed',
      message: 'X could not be asked: It broke.'
    }
  });
});

test('an answer without its final event is a failure', async () => {
  const { reply } = await run(async (_request, { fetch }) => {
    await fetch('data:,');
    return { text: 'half', finished: false };
  });
  expect(reply.text).toBe('half');
  expect(reply.failure).toMatchObject({
    code: 'bad_output',
    message: expect.stringContaining('its final event is missing')
  });
});

test("an engine's own failure is kept, without the key", async () => {
  const { reply } = await run(async () => ({
    text: '',
    finished: false,
    failure: { code: 'quota', message: `No cake for ${apiKey}.` }
  }));
  expect(reply.failure).toEqual({
    code: 'quota',
    message: 'No cake for [redacted].'
  });
});

test('one JSON body instead of a stream is read whole, with a single request', async () => {
  const asked: boolean[] = [];
  const address = 'data:application/json,{"said":"All"}';
  const { reply } = await run(async ({ stream }, { fetch }) => {
    asked.push(stream);
    const response = await fetch(address);
    const { said } = JSON.parse(await response.text());
    return { text: stream ? 'not a stream' : said, finished: true };
  });
  expect(asked).toEqual([true, false]);
  expect(reply).toMatchObject({ text: 'All', finished: true });
  expect(reply.failure).toBeUndefined();
});
