import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { packageRoot } from '../../kit/judges/documents.ts';
import type { McpClient } from '../../kit/servers/mcp-client.ts';
import {
  type ApiWorkspace,
  createApiWorkspace,
  ended,
  spawnApi
} from '../../kit/workspaces/api-workspace.ts';
import { needing } from '../../kit/workspaces/needs.ts';
import {
  breaksAfter,
  cutAfter,
  endsAfter,
  events,
  fails,
  type ProviderAnswer,
  page,
  says,
  saysWhole,
  sends
} from '../../provider-fake/answers.ts';
import { apiEngines } from '../../provider-fake/asked.ts';
import {
  type ErrorCase,
  errorCases
} from '../../provider-fake/provider-errors.ts';

interface Case {
  answers: ProviderAnswer[];
  code: string | null;
  /** Requests that it takes; default: any number of tries up to 3. */
  requests?: number;
  error?: RegExp;
  result?: string;
}

const far = { 'retry-after': '3600' };
const soon = { 'retry-after': '1' };

/** What a provider may do, and what the caller gets. */
const cases: Record<string, Case> = {
  'a request of 1 s patience': {
    answers: [fails('rate', soon), says('Hello')],
    code: null,
    requests: 2
  },
  'one error, then an answer': {
    answers: [fails('broken'), says('Hello')],
    code: null,
    requests: 2
  },
  'patience of an hour': {
    answers: [fails('rate', far)],
    code: 'rate_limited',
    requests: 1,
    error: /asks to wait 3600 s.*Spawn it again after that/
  },
  'nothing but errors': {
    answers: [fails('broken')],
    code: 'provider_error',
    requests: 3,
    error: /status 5\d\d.*3 attempts.*Spawn it again a little later\.$/
  },
  'an error page': {
    answers: [page(503)],
    code: 'provider_error',
    requests: 3,
    error: /status 503: Gateway Try again/
  },
  'an address without an API': {
    answers: [page(404)],
    code: 'provider_error',
    requests: 1,
    error: /status 404: Gateway Try again.*Check baseUrl\.$/
  },
  'a page where an answer should be': {
    answers: [page(200)],
    code: 'bad_output',
    requests: 1,
    error: /sent a web page instead of an answer.*Check baseUrl\.$/
  },
  'a wrong key that is quoted': {
    answers: [sends(401, ({ key }) => `{"error": "Who is ${key}?"}`)],
    code: 'auth',
    requests: 1,
    error: /status 401: Who is \[redacted\]\?/
  },
  'JSON that breaks off': {
    answers: [events('{"id": "x')],
    code: 'bad_output',
    error: /cannot be used: it is not valid JSON/
  },
  'an event that is not JSON': {
    answers: [events('{"a', 'b"}')],
    code: 'bad_output'
  },
  'JSON of another kind': { answers: [events('{"a":1}')], code: 'bad_output' },
  'a body without a byte': { answers: [sends(200, '')], code: 'bad_output' },
  'an answer without a word': {
    answers: [says('')],
    code: 'bad_output',
    error: /ended without any answer/
  },
  'a connection that is cut': {
    answers: [cutAfter('half')],
    code: 'network',
    requests: 1,
    error: /broke off its answer.*Spawn it again\.$/,
    result: 'half'
  },
  'an end too early': {
    answers: [endsAfter('half')],
    code: 'bad_output',
    requests: 1,
    result: 'half'
  },
  'an error in the middle': {
    answers: [breaksAfter('half')],
    code: 'provider_error'
  },
  'an answer at its limit': {
    answers: [says('half', { stop: 'max_tokens' })],
    code: 'output_limit',
    error: /before the end of its answer.*Ask for less at once\.$/,
    result: 'half'
  },
  'a refusal': {
    answers: [says('', { stop: 'refusal' })],
    code: 'content_refused',
    error: /Rephrase the prompt, or use another engine\.$/
  },
  'one piece instead of a stream': {
    answers: [saysWhole('Hello')],
    code: null,
    result: 'Hello'
  }
};

/** Before a stream begins, it makes no difference whether there will be one. */
const own: Record<string, Case> = Object.fromEntries(
  Object.entries(errorCases).map(([name, code]) => [
    `its own words for "${name}"`,
    { answers: [fails(name as ErrorCase)], code }
  ])
);

describe.each([
  ['streams', true],
  ['does not stream', false]
])('an engine that %s', (_how, stream) => {
  let workspace: ApiWorkspace;
  let server: McpClient;

  beforeAll(async () => {
    workspace = await createApiWorkspace();
    workspace.configure({}, { stream });
    server = await workspace.start();
  });

  afterAll(async () => {
    expect(server.impurities).toEqual([]);
    expect(server.stderr).toBe('');
    await workspace.close();
  });

  test.each(apiEngines)('%s reports every fault in time', async (engine) => {
    const fake = workspace.fakes[engine];
    const all = stream ? { ...cases, ...own } : cases;
    const spawned = Object.entries(all).map(async ([name, one]) => {
      fake.plan(name, ...one.answers);
      return [one, name, await spawnApi(server, engine, name)] as const;
    });
    for (const [one, name, id] of await Promise.all(spawned)) {
      const told = await ended(server, id);
      const about = `${name}: ${told.status}, ${told.error}`;
      const { code, error, requests, result } = one;
      expect(told.error_code, about).toBe(code);
      expect(told.status, about).toBe(code === null ? 'completed' : 'failed');
      expect(told.success, about).toBe(code === null);
      if (error) expect(told.error, about).toMatch(error);
      if (result && (stream || code === null))
        expect(told.result, about).toBe(result);
      // Nor does an SDK print what it makes of it.
      const stderr = join(workspace.record, 'spawns', id, 'stderr');
      expect(readFileSync(stderr, 'utf8'), about).toBe('');
      const made = fake.asked(name).length;
      if (requests) expect(made, about).toBe(requests);
      expect(made, about).toBeLessThanOrEqual(3);
    }
  });
});

const testFull = needing('/dev/full', existsSync('/dev/full'));

testFull('an answer that cannot be written down is no success', () => {
  const agent = join(packageRoot, 'dist', 'api-agent.js');
  const task = { engine: 'none', label: 'None', plugin: null };
  const full = openSync('/dev/full', 'w');
  const { status, stderr } = spawnSync(process.execPath, [agent], {
    input: JSON.stringify(task),
    stdio: ['pipe', full, 'pipe'],
    encoding: 'utf8'
  });
  closeSync(full);
  expect(status).toBe(1);
  expect(stderr).toMatch(/ENOSPC/);
});
