import { expect, test } from 'vitest';
import type { ApiEngine, FailureCode } from '../../../plugin/plugin.ts';
import { failureOfCall } from './call-failure.ts';
import type { CallFacts } from './provider-fetch.ts';

const engine: ApiEngine = {
  kind: 'api',
  name: 'x',
  description: '',
  keyNames: [],
  generate: async () => ({ text: '', finished: true }),
  failure: (said) => (/out of cake/.test(said) ? 'quota' : undefined)
};

function failureOf(
  error: unknown,
  facts: Partial<CallFacts>,
  redact = (text: string) => text
) {
  return failureOfCall(error, {
    facts: { idle: false, attempts: 1, ...facts },
    engine,
    label: 'X',
    redact
  });
}

function answered(
  status: number,
  body: unknown,
  more: Partial<CallFacts> = {}
) {
  const errorText = typeof body === 'string' ? body : JSON.stringify(body);
  const contentType =
    typeof body === 'string' ? 'text/html' : 'application/json';
  return failureOf(new Error('of the SDK'), {
    status,
    errorText,
    contentType,
    ...more
  });
}

test.each<[number, unknown, FailureCode]>([
  [401, { error: { message: 'quota' } }, 'auth'],
  [402, {}, 'quota'],
  [403, { error: 'No.' }, 'permission_denied'],
  [403, { error: 'We are out of cake.' }, 'quota'],
  [404, { message: 'model: m' }, 'model_not_found'],
  [404, '<h1>Not found</h1>', 'provider_error'],
  [400, { error: { message: 'prompt is too long' } }, 'context_too_long'],
  [400, { error: { message: 'Port 443 is unavailable' } }, 'provider_error'],
  [400, { error: { message: 'Blocked for safety' } }, 'content_refused'],
  [413, '', 'context_too_long'],
  [422, { detail: [{ msg: 'Field required' }] }, 'provider_error'],
  [429, { error: { message: 'Slower' } }, 'rate_limited'],
  [429, { error: { code: 'insufficient_quota' } }, 'quota'],
  [429, { error: 'Quota of 5 requests per minute' }, 'rate_limited'],
  [301, '', 'network'],
  [500, '', 'provider_error'],
  [529, { error: { message: 'Overloaded' } }, 'provider_error']
])('status %i with %j is %s', (status, body, code) => {
  expect(answered(status, body).code).toBe(code);
});

test.each<[string, { message: string }, string]>([
  [
    'the words of an object in "error"',
    answered(401, { error: { message: 'Who are you?', code: 'x' } }),
    'X answered with status 401: Who are you? Put a valid key into api_keys.json or the environment.'
  ],
  [
    'the words in "error" itself, without its full stop',
    answered(500, { code: 'internal', error: 'It broke.' }, { attempts: 3 }),
    'X answered with status 500: It broke (3 attempts). Spawn it again a little later.'
  ],
  [
    'the words in "message" or "detail"',
    answered(429, [{ message: 'Slower' }], { requestId: 'r-1' }),
    'X answered with status 429: Slower (request r-1). Spawn it again a little later.'
  ],
  [
    'what a page shows',
    answered(503, '<style>p {}</style><h1>Try</h1>\n <p>again</p>'),
    'X answered with status 503: Try again. Spawn it again a little later.'
  ],
  [
    'the address to check',
    answered(404, 'not here'),
    'X answered with status 404: not here. Check baseUrl.'
  ],
  [
    'that the same request would fail again',
    answered(400, { error: 'No such field.' }),
    'X answered with status 400: No such field. Change what it names; as it is, it would fail again.'
  ],
  [
    'the model that its SDK does not take',
    failureOf(new Error('invalid model parameter'), { attempts: 0 }),
    'X could not be asked: invalid model parameter. Leave "model" out, or name one that this key may use.'
  ],
  [
    'how long to wait',
    answered(429, { error: 'Slower' }, { retryAfterSeconds: 59.2 }),
    'X answered with status 429 and asks to wait 60 s: Slower. Spawn it again after that, or use another engine.'
  ],
  [
    "the SDK's words when there are no others",
    answered(500, ''),
    'X answered with status 500: of the SDK. Spawn it again a little later.'
  ]
])('an error shows %s', (_what, { message }, sentence) => {
  expect(message).toBe(sentence);
});

function caused(...messages: string[]): Error {
  const [first = '', ...rest] = messages;
  const cause = rest.length > 0 ? { cause: caused(...rest) } : undefined;
  return new Error(first, cause);
}

test('an unreachable address is reported with the innermost cause', () => {
  const error = caused(
    'Connection error.',
    'fetch failed',
    'connect EX 1.2.3.4'
  );
  expect(failureOf(error, { attempts: 3 })).toEqual({
    code: 'network',
    message:
      'X could not be reached: connect EX 1.2.3.4 (3 attempts). Check the connection, the proxy and baseUrl.'
  });
  const both = new AggregateError([caused('connect A'), caused('connect B')]);
  const deep = new Error('fetch failed', { cause: both });
  expect(failureOf(deep, {}).message).toContain('reached: connect A.');
});

test('an error before the first request is spawn_failed', () => {
  expect(failureOf(caused('No such module'), { attempts: 0 })).toEqual({
    code: 'spawn_failed',
    message: 'X could not be asked: No such module.'
  });
});

test.each([
  ['terminated', undefined],
  ['other side closed', 'UND_ERR_SOCKET'],
  ['read ECONNRESET', 'ECONNRESET']
])(
  'a response that breaks off with "%s" is a network failure',
  (message, code) => {
    const error = Object.assign(new Error(message), code ? { code } : {});
    const wrapped = new Error('of the SDK', { cause: error });
    expect(failureOf(wrapped, { status: 200 })).toEqual({
      code: 'network',
      message: `X broke off its answer: ${message}. Spawn it again.`
    });
  }
);

test.each<[string, FailureCode, RegExp]>([
  [
    '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
    'provider_error',
    /^X failed while answering: Overloaded\. Spawn/
  ],
  [
    'got status: RESOURCE_EXHAUSTED. {"error":{"message":"Too many requests"}}',
    'rate_limited',
    /^X failed while answering: Too many requests\. Spawn/
  ],
  [
    'Unexpected token k, "key" is not valid JSON',
    'bad_output',
    /^X sent an answer that cannot be used: it is not valid JSON\. Spawn/
  ],
  [
    '[{"code":"custom","message":"expected string"}]',
    'bad_output',
    /cannot be used: expected string\./
  ],
  ['no "output"', 'bad_output', /cannot be used: no "output"\./]
])(
  'an error inside a response is classified: %s',
  (message, code, sentence) => {
    const failure = failureOf(new Error(message), { status: 200 });
    expect(failure.code).toBe(code);
    expect(failure.message).toMatch(sentence);
  }
);

test('a web page instead of an answer is reported as such', () => {
  const facts = { status: 200, contentType: 'text/html; charset=utf-8' };
  expect(failureOf(caused('Unexpected token <'), facts)).toEqual({
    code: 'bad_output',
    message: 'X sent a web page instead of an answer. Check baseUrl.'
  });
});

test('an idle timeout takes precedence over all other causes', () => {
  const facts = { idle: true, status: 500, requestId: 'r-1' };
  expect(failureOf(caused('x'), facts)).toEqual({
    code: 'idle_timeout',
    message:
      'X sent nothing for the idle time limit (request r-1). Spawn it again, or raise idleTimeoutSeconds.'
  });
});

test('a long message is cut after the key is redacted', () => {
  const redact = (text: string) => text.replaceAll('a\nkey', '[redacted]');
  const long = `${'w'.repeat(490)} a\nkey ${'v'.repeat(100)}`;
  const body = { status: 400, errorText: JSON.stringify({ error: long }) };
  const { message } = failureOf(caused('x'), body, redact);
  expect(message).not.toMatch(/a key|ww a/);
  expect(message).toContain('w [redact');
  expect(message.length).toBeLessThan(620);
});

test.each([
  ['nothing', undefined],
  ['a text', 'just words'],
  ['an object', { code: 5 }],
  ['an object without a prototype', Object.create(null)]
])('a thrown value is reported: %s', (_what, thrown) => {
  expect(failureOf(thrown, { status: 200 }).code).toBe('bad_output');
  expect(failureOf(thrown, { attempts: 0 }).code).toBe('spawn_failed');
});
