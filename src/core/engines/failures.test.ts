import { expect, test } from 'vitest';
import type { CliEngine, FailureCode } from '../../plugin/plugin.ts';
import { classifyWith, wordsOf } from './failures.ts';

const classify = classifyWith(undefined);

const sayings: [string, FailureCode | undefined][] = [
  ['You are not logged in. Please run /login', 'not_logged_in'],
  ['Error: Please log in first', 'not_logged_in'],
  ['No authentication method configured', 'not_logged_in'],
  ['401 Unauthorized', 'auth'],
  ['Invalid API key provided', 'auth'],
  ['invalid key', 'auth'],
  ['authentication_error: x-api-key header is required', 'auth'],
  ['You exceeded your current quota, please check your plan', 'quota'],
  ['429: insufficient credits', 'quota'],
  ["You've hit your usage limit", 'quota'],
  ['429 Too Many Requests', 'rate_limited'],
  ['rate_limit_error', 'rate_limited'],
  ['Rate-limited, retry in 20s', 'rate_limited'],
  ['The model `gpt-9` does not exist', 'model_not_found'],
  ['model: claude-9 not found', 'model_not_found'],
  ['Unknown model "x"', 'model_not_found'],
  ["This model's maximum context length is 8192 tokens", 'context_too_long'],
  ['prompt is too long: 210000 tokens', 'context_too_long'],
  ['EACCES: permission denied, open x', 'permission_denied'],
  ['403 Forbidden', 'permission_denied'],
  ['connect ECONNREFUSED 127.0.0.1:443', 'network'],
  ['getaddrinfo ENOTFOUND api.example.com', 'network'],
  ['TypeError: fetch failed', 'network'],
  ['Connection refused', 'network'],
  ['Blocked by the content filter', 'content_refused'],
  ['The model refused to answer', 'content_refused'],
  ['500 Internal Server Error', 'provider_error'],
  ['overloaded_error', 'provider_error'],
  ['503 Service Unavailable', 'provider_error'],
  ['TypeError: x is not a function', undefined],
  ['', undefined]
];

test.each(sayings)('"%s" means %s', (text, code) => {
  expect(classify(text)).toBe(code);
});

test("the engine's own classification comes first", () => {
  const engine: CliEngine = {
    kind: 'cli',
    name: 'x',
    description: 'x',
    command: 'x',
    args: () => [],
    failure: (text) => (text.includes('my own') ? 'session_busy' : undefined)
  };
  expect(classifyWith(engine)('my own 429')).toBe('session_busy');
  expect(classifyWith(engine)('a 429')).toBe('rate_limited');
});

test('the words of an error end before what may be half a secret', () => {
  const words = wordsOf(new Error(`${'said '.repeat(98)}S3CRET-S3CRET-S3CRET`));
  expect(words).toBe(`${'said '.repeat(98)}…`);
});
