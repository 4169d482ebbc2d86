import { createServer, type ServerResponse } from 'node:http';
import { afterEach, expect, test } from 'vitest';
import { createProviderFetch } from './provider-fetch.ts';

type Answer = (response: ServerResponse) => void;

let close = async (): Promise<void> => undefined;

afterEach(() => close());

/** A server that sends the given responses in order and repeats the last. */
async function serve(...answers: Answer[]) {
  const bodies: string[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    bodies.push(body);
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    answer?.(response);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  close = () =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  return { url: `http://127.0.0.1:${port}/`, bodies };
}

function status(
  code: number,
  headers: Record<string, string> = {},
  body = 'said'
): Answer {
  return (response) => response.writeHead(code, headers).end(body);
}

/** A fetch that records its delays instead of waiting. */
function withoutWaiting(idleMs = 0) {
  const stop = new AbortController();
  const waits: number[] = [];
  const retries: string[] = [];
  const made = createProviderFetch({
    signal: stop.signal,
    idleMs,
    onRetry: (why) => retries.push(why),
    wait: async (ms) => waits.push(ms)
  });
  return { ...made, stop, waits, retries };
}

test('a success is returned unchanged, and its headers are noted', async () => {
  const { url } = await serve(status(201, { 'x-request-id': 'r-1' }));
  const { fetch, facts, waits } = withoutWaiting();
  const response = await fetch(url);
  expect([response.status, await response.text()]).toEqual([201, 'said']);
  expect(facts).toMatchObject({ status: 201, requestId: 'r-1', attempts: 1 });
  expect(waits).toEqual([]);
});

test.each([408, 429, 500, 502, 503, 504, 529])(
  'status %i is retried twice, with growing waits',
  async (code) => {
    const { url, bodies } = await serve(status(code));
    const { fetch, facts, waits, retries } = withoutWaiting();
    const response = await fetch(url, { method: 'POST', body: 'ask' });
    expect([response.status, await response.text()]).toEqual([code, 'said']);
    expect(bodies).toEqual(['ask', 'ask', 'ask']);
    expect(facts).toMatchObject({ attempts: 3, errorText: 'said' });
    expect(retries).toEqual([`status ${code}`, `status ${code}`]);
    const [first = 0, second = 0] = waits;
    expect(first).toBeGreaterThanOrEqual(500);
    expect(first).toBeLessThanOrEqual(625);
    expect(second).toBeGreaterThanOrEqual(1000);
  }
);

test.each([400, 401, 403, 404, 422, 501])(
  'status %i is not retried',
  async (code) => {
    const { url, bodies } = await serve(status(code));
    const { fetch, facts } = withoutWaiting();
    expect((await fetch(url)).status).toBe(code);
    expect(bodies).toHaveLength(1);
    expect(facts.errorText).toBe('said');
  }
);

test('only the beginning of an endless error body is read', async () => {
  const { url } = await serve((response) => {
    response.writeHead(400);
    const more = () => {
      while (response.write('é'.repeat(5000)));
      response.once('drain', more);
    };
    more();
  });
  const { fetch, facts } = withoutWaiting();
  const response = await fetch(url);
  expect(await response.text()).toBe('é'.repeat(65_536));
  expect(facts.errorText).toHaveLength(65_536);
});

test('a Request with a body can be retried', async () => {
  const { url, bodies } = await serve(status(500), status(200));
  const { fetch, facts } = withoutWaiting();
  const request = new Request(url, { method: 'POST', body: 'ask' });
  expect((await fetch(request)).status).toBe(200);
  expect(bodies).toEqual(['ask', 'ask']);
  expect(facts.errorText).toBeUndefined();
});

test('a connection that is cut before a response is retried', async () => {
  const { url, bodies } = await serve(
    (response) => response.destroy(),
    status(200)
  );
  const { fetch, retries } = withoutWaiting();
  expect((await fetch(url)).status).toBe(200);
  expect(bodies).toHaveLength(2);
  expect(retries).toEqual(['a network error']);
});

test('an address without a listener is tried three times', async () => {
  const { url } = await serve(status(200));
  await close();
  const { fetch, facts } = withoutWaiting();
  await expect(fetch(url)).rejects.toThrow('fetch failed');
  expect(facts).toMatchObject({ attempts: 3, idle: false });
  expect(facts.status).toBeUndefined();
});

test.each([
  ['in seconds', { 'retry-after': '7' }, '', 7000],
  ['in milliseconds', { 'retry-after-ms': '1500' }, '', 1500],
  ['in the body', {}, '{"details": [{"retryDelay": "2.5s"}]}', 2500]
])(
  'a retry waits for the time that the provider asks for %s',
  async (_how, headers, body, ms) => {
    const { url } = await serve(status(429, headers, body), status(200));
    const { fetch, waits } = withoutWaiting();
    expect((await fetch(url)).status).toBe(200);
    expect(waits).toHaveLength(1);
    expect(waits[0]).toBeGreaterThanOrEqual(ms);
  }
);

test.each([
  ['in seconds', { 'retry-after': '3600' }, ''],
  ['in the body', {}, '{"retryDelay": "3600s"}']
])(
  'a delay of an hour that is requested %s ends the retries',
  async (_how, headers, body) => {
    const { url, bodies } = await serve(status(429, headers, body));
    const { fetch, facts, waits } = withoutWaiting();
    expect((await fetch(url)).status).toBe(429);
    expect(bodies).toHaveLength(1);
    expect(waits).toEqual([]);
    expect(facts.retryAfterSeconds).toBe(3600);
  }
);

test('a date in an hour ends the retries as well', async () => {
  const date = new Date(Date.now() + 3_600_000).toUTCString();
  const { url, bodies } = await serve(status(503, { 'retry-after': date }));
  const { fetch, facts } = withoutWaiting();
  await fetch(url);
  expect(bodies).toHaveLength(1);
  expect(facts.retryAfterSeconds).toBeGreaterThan(3000);
});

test('a delay that is no time counts as none', async () => {
  const headers = { 'retry-after': 'soon' };
  const { url } = await serve(status(429, headers), status(200));
  const { fetch, waits } = withoutWaiting();
  expect((await fetch(url)).status).toBe(200);
  expect(waits[0]).toBeGreaterThanOrEqual(500);
});

test('a wait ends when the run is stopped', async () => {
  const { url } = await serve(status(429, { 'retry-after': '19' }));
  const stop = new AbortController();
  const { fetch, facts } = createProviderFetch({
    signal: stop.signal,
    idleMs: 0,
    onRetry: () => stop.abort()
  });
  await expect(fetch(url)).rejects.toThrow('abort');
  expect(facts.attempts).toBe(1);
});

test('silence before the headers ends the request without a retry', async () => {
  const { url, bodies } = await serve(() => undefined);
  const { fetch, facts } = withoutWaiting(50);
  await expect(fetch(url)).rejects.toThrow('nothing was received for 0.05 s');
  expect(facts.idle).toBe(true);
  expect(bodies).toHaveLength(1);
});

test.each([200, 400])(
  'silence in the body of status %i ends the request',
  async (code) => {
    const { url } = await serve((response) => {
      response.writeHead(code).write('half');
    });
    const { fetch, facts } = withoutWaiting(50);
    const whole = async () => (await fetch(url)).text();
    await expect(whole()).rejects.toThrow();
    expect(facts.idle).toBe(true);
  }
);

test.each([301, 302, 307, 308])(
  'status %i is not followed, so that the key reaches no other address',
  async (code) => {
    const { url, bodies } = await serve(status(code, { location: '/other' }));
    const { fetch, facts } = withoutWaiting();
    expect((await fetch(url, { method: 'POST', body: 'ask' })).status).toBe(
      code
    );
    expect(bodies).toEqual(['ask']);
    expect(facts).toMatchObject({ status: code, errorText: 'said' });
  }
);

test('a request that its caller aborts is not retried', async () => {
  const { url, bodies } = await serve(() => undefined);
  const { fetch, facts } = withoutWaiting();
  const own = new AbortController();
  const call = fetch(url, { signal: own.signal });
  own.abort(new Error('never mind'));
  await expect(call).rejects.toThrow('never mind');
  expect(facts.attempts).toBe(1);
  expect(bodies.length).toBeLessThanOrEqual(1);
});

test('an idle limit does not pass while there is no room for more', async () => {
  const { url } = await serve(status(200));
  let ask = (): void => undefined;
  let makeRoom = (): void => undefined;
  const asked = new Promise<void>((resolve) => {
    ask = resolve;
  });
  const room = new Promise<void>((resolve) => {
    makeRoom = resolve;
  });
  const { fetch, facts } = createProviderFetch({
    signal: new AbortController().signal,
    idleMs: 300,
    roomForMore: () => {
      ask();
      return room;
    }
  });
  const text = fetch(url).then((response) => response.text());
  await asked;
  setTimeout(makeRoom, 600);
  expect(await text).toBe('said');
  expect(facts.idle).toBe(false);
});

test('a body beyond the most that is kept fails', async () => {
  const { url } = await serve(status(200, {}, 'a'.repeat(2000)));
  const { fetch } = createProviderFetch({
    signal: new AbortController().signal,
    idleMs: 0,
    bodyBytes: 1000
  });
  const response = await fetch(url);
  await expect(response.text()).rejects.toThrow('larger than 1000 bytes');
});
