import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { EngineRequest, Reply } from '../src/plugin/plugin.ts';
import copilot from './copilot.ts';

const request: EngineRequest = {
  prompt: 'Say hi',
  access: 'full',
  cwd: '/workspace',
  asRoot: false
};
const nothing: Reply = { text: '', finished: false };
const end = { type: 'result', sessionId: 's-1', exitCode: 0 };
const failedEnd = { ...end, exitCode: 1 };
const abort = event('abort', { reason: 'user_initiated' });

function event(type: string, data: object, more: object = {}) {
  return { type, data, ...more };
}

function said(content: string, more: object = {}) {
  return event('assistant.message', { content, toolRequests: [], ...more });
}

function delta(deltaContent: string, more: object = {}) {
  return event('assistant.message_delta', { deltaContent, ...more });
}

function error(data: object) {
  return event('session.error', { errorType: 'query', ...data });
}

function read(...events: unknown[]): Reply {
  return events.reduce<Reply>(copilot.read, nothing);
}

describe('arguments', () => {
  const common = ['--output-format', 'json', '--no-color'];
  const reading = '--available-tools=view,grep,rg,glob';

  test.each([
    ['full', [...common, '--allow-all-tools', '--allow-all-paths']],
    ['read', [...common, reading, '--disallow-temp-dir']],
    [
      'write',
      [
        ...common,
        `${reading},create,edit,apply_patch`,
        '--disallow-temp-dir',
        '--allow-tool=write'
      ]
    ]
  ] as const)('access %s is held by flags', (access, args) => {
    expect(copilot.args({ ...request, access })).toEqual(args);
  });

  test('a session id cannot add a flag', () => {
    const args = copilot.args({ ...request, sessionId: '--allow-all' });
    expect(args.at(-1)).toBe('--resume=--allow-all');
  });

  test('names a new session and a continued one', () => {
    const newSessionId = '00000000-0000-4000-8000-000000000001';
    const args = copilot.args({ ...request, newSessionId });
    expect(args.at(-1)).toBe(`--session-id=${newSessionId}`);
  });

  test('a model is named only if there is one', () => {
    expect(copilot.args(request)).not.toContain('--model');
    const args = copilot.args({ ...request, model: 'auto' });
    expect(args.slice(-2)).toEqual(['--model', 'auto']);
  });

  test.each(['gpt-5', 'gpt-5.1', 'claude-sonnet', 'claude-opus', 'gemini'])(
    'resolves %s to a current model',
    (name) => {
      const { aliases } = copilot.models;
      expect(Object.entries(aliases)).toContainEqual([
        name,
        expect.stringMatching(/^(gpt|claude-\w+|gemini)-\d/)
      ]);
    }
  );
});

describe('environment', () => {
  test('an address is passed on as the user’s own provider', () => {
    const baseUrl = 'http://127.0.0.1:8080';
    expect(copilot.env.set({ ...request, baseUrl })).toEqual({
      COPILOT_PROVIDER_BASE_URL: baseUrl
    });
    expect(copilot.env.set(request)).toEqual({});
  });

  test.each([
    ...['COPILOT_AGENT_SESSION_ID', 'COPILOT_CLI', 'COPILOT_CLI_VERSION'],
    // This variable would lift every limit.
    'COPILOT_ALLOW_ALL'
  ])('%s of an outer session is not kept', (variable) => {
    for (const name of copilot.env.keep) {
      const pattern = new RegExp(`^${name.replace('*', '.*')}$`);
      expect(variable).not.toMatch(pattern);
    }
  });
});

describe('reading events', () => {
  test('the last message that calls no tool is the answer', () => {
    const call = said('I will look.', { toolRequests: [{ name: 'view' }] });
    expect(read(said('First.'), call).text).toBe('');
    expect(read(said('First.'), call, said('Last.'), end)).toMatchObject({
      text: 'Last.',
      finished: true,
      sessionId: 's-1'
    });
  });

  test('an answer that the model sends in pieces is joined', () => {
    const turnEnd = event('assistant.turn_end', {});
    const events = [delta('One, '), turnEnd, delta('two.'), said('two.')];
    expect(read(...events, end).text).toBe('One, two.');
  });

  test('text that was streamed before a failed model call is dropped', () => {
    const failure = event('model.call_failure', {});
    const events = [delta('Half'), failure, delta('Whole.'), said('Whole.')];
    expect(read(...events, end).text).toBe('Whole.');
  });

  test('messages of a nested agent are not the answer', () => {
    const other = { agentId: 'a-2' };
    const nested = { parentToolCallId: 'call-1' };
    const events = [
      event('assistant.message', { content: 'No', toolRequests: [] }, other),
      said('No', nested),
      delta('No', nested),
      said('Yes'),
      end
    ];
    expect(read(...events).text).toBe('Yes');
  });

  test('shows the tool in use, and the reason of a retry', () => {
    const start = event('tool.execution_start', {
      toolName: 'bash',
      arguments: { command: 'npm\ntest', description: 'Test' }
    });
    expect(read(start).progress).toBe('bash: npm test');
    const retry = event('assistant.turn_retry', { reason: 'rate_limit' });
    expect(read(start, retry).progress).toBe('retry after rate_limit');
  });

  test('reports which calls were refused for lack of permission', () => {
    const start = event('tool.execution_start', {
      toolName: 'create',
      arguments: { path: '/etc/x' }
    });
    const complete = (code: string) =>
      event('tool.execution_complete', {
        success: false,
        error: { code },
        toolTelemetry: { properties: { command: 'create' } }
      });
    expect(read(start, complete('failure')).denials).toBeUndefined();
    expect(read(start, complete('denied')).denials).toEqual(['create: /etc/x']);
    expect(read(complete('denied')).denials).toEqual(['create']);
  });

  test('an error that was overcome is not a failure', () => {
    const events = [error({ message: '500 Broken' }), said('Done.'), end];
    expect(read(...events)).toMatchObject({ text: 'Done.', finished: true });
    expect(read(...events)).not.toHaveProperty('failure');
  });

  test('an interrupted run never succeeds, whatever it reports', () => {
    for (const events of [[abort], [abort, end], [said('x'), abort, end]])
      expect(read(...events).failure?.code).toBe('interrupted');
  });

  test('a failure is final', () => {
    const failed = read(error({ message: '400 Bad' }), failedEnd);
    expect(failed).toMatchObject({ text: '', finished: true });
    expect(read(error({ message: '400 Bad' }), failedEnd, end)).toEqual(failed);
    expect(read(failedEnd).failure?.code).toBe('provider_error');
    expect(read({ type: 'result' }).failure?.code).toBe('provider_error');
  });

  test.each([
    [{ errorType: 'authentication', message: 'No', statusCode: 401 }, 'auth'],
    [{ errorType: 'authorization', message: 'No' }, 'auth'],
    [{ errorType: 'policy', message: 'Not here' }, 'permission_denied'],
    [{ errorType: 'quota', message: 'Used up', statusCode: 402 }, 'quota'],
    [{ errorType: 'rate_limit', message: 'Slow' }, 'rate_limited'],
    [{ errorType: 'context_limit', message: 'Big' }, 'context_too_long'],
    [{ message: 'prompt is too long: 9 tokens' }, 'context_too_long'],
    [{ message: 'Model "x" is not available.' }, 'model_not_found'],
    [{ message: 'connection reset by peer' }, 'network'],
    [{ message: 'Overloaded', statusCode: 529 }, 'provider_error'],
    [{}, 'provider_error']
  ])('the error %j means %s', (data, code) => {
    expect(read(error(data), failedEnd).failure?.code).toBe(code);
  });

  test('any event is read without an error and without a change of the reply', () => {
    const field = fc.oneof(
      fc.jsonValue(),
      fc.dictionary(
        fc.constantFrom('content', 'toolRequests', 'error', 'toolTelemetry'),
        fc.jsonValue()
      )
    );
    const types = fc.constantFrom(
      ...['result', 'assistant.message', 'assistant.message_delta', 'abort'],
      ...['tool.execution_complete', 'tool.execution_start', 'session.error']
    );
    const events = fc.oneof(
      fc.record({ type: types, data: field, exitCode: fc.jsonValue() }),
      fc.jsonValue()
    );
    fc.assert(
      fc.property(events, (one) => {
        const before = Object.freeze({ ...nothing });
        expect(typeof copilot.read(before, one).text).toBe('string');
        expect(before).toEqual(nothing);
      })
    );
    expect(read(undefined, null, 1, 'x', [], [[]], { type: {} })).toEqual(
      nothing
    );
  });
});

test.each([
  ['Error: No authentication information found.', 'not_logged_in'],
  ["Error: No session, task, or name matched '1'.", 'spawn_failed'],
  ["error: unexpected argument '--x' found", 'spawn_failed'],
  [
    "Request exceeds the model's prompt budget after reserving output (9 tokens; limit 8).",
    'context_too_long'
  ],
  ['Segmentation fault', undefined]
])('"%s" means %s', (words, code) => {
  expect(copilot.failure(words)).toBe(code);
});
