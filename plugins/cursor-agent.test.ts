import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { EngineRequest, Reply } from '../src/plugin/plugin.ts';
import cursorAgent from './cursor-agent.ts';

const request: EngineRequest = {
  prompt: 'Say hi',
  access: 'full',
  cwd: '/workspace',
  asRoot: false
};
const nothing: Reply = { text: '', finished: false };
const success = {
  type: 'result',
  subtype: 'success',
  is_error: false,
  result: 'hi'
};
const broken = { ...success, is_error: true, result: 'Request timed out' };

function read(...events: unknown[]): Reply {
  return events.reduce<Reply>(cursorAgent.read, nothing);
}

function said(text: string, more: Record<string, unknown> = {}) {
  const message = { role: 'assistant', content: [{ type: 'text', text }] };
  return { type: 'assistant', message, ...more };
}

function call(tool_call: unknown, subtype = 'started') {
  return { type: 'tool_call', subtype, call_id: 'call_1\nfc_2', tool_call };
}

describe('arguments', () => {
  const common = '-p --output-format stream-json --trust';

  test.each([
    ['full', `${common} --force`],
    ['write', common],
    ['read', `${common} --mode ask`]
  ] as const)('with access %s', (access, line) => {
    expect(cursorAgent.args({ ...request, access }).join(' ')).toBe(line);
  });

  test('no access is declared as enforced', () => {
    expect(Object.values(cursorAgent.access)).toEqual(Array(3).fill('asked'));
  });

  test('the prompt is not an argument', () => {
    const prompt = '--help me';
    expect(cursorAgent.args({ ...request, prompt })).not.toContain(prompt);
  });

  test('a model is passed on unchanged', () => {
    const model = 'gpt-5.4-mini[effort=low]';
    const args = cursorAgent.args({ ...request, model });
    expect(args[args.indexOf('--model') + 1]).toBe(model);
  });

  test('a session id cannot add a flag', () => {
    const args = cursorAgent.args({ ...request, sessionId: '--force' });
    expect(args.at(-1)).toBe('--resume=--force');
  });
});

describe('reading events', () => {
  test('the session, the model and the tokens of a run', () => {
    const reply = read(
      { type: 'system', subtype: 'init', session_id: 's-1', model: 'Auto' },
      {
        ...success,
        usage: {
          inputTokens: 130,
          outputTokens: 17,
          cacheReadTokens: 17408,
          cacheWriteTokens: 2
        }
      }
    );
    expect(reply).toEqual({
      text: 'hi',
      finished: true,
      sessionId: 's-1',
      model: 'Auto',
      usage: {
        prompt_tokens: 17540,
        completion_tokens: 17,
        total_tokens: 17557
      },
      cachedTokens: 17408
    });
  });

  test('the answer is the last message, without the messages before it', () => {
    const talk = said('I look first.', { model_call_id: 'm-1' });
    const result = 'I look first.There are two.';
    expect(read(talk, said('There are two.'), { ...success, result })).toEqual({
      text: 'There are two.',
      finished: true
    });
  });

  test('the answer is the whole result if it does not end with a message', () => {
    const result = 'I look first.There are two.';
    expect(read({ ...success, result }).text).toBe(result);
    expect(read(said('Other'), { ...success, result }).text).toBe(result);
    expect(read(said('\n'), { ...success, result: 'a\n' }).text).toBe('a\n');
  });

  test('messages without a result do not finish the reply', () => {
    expect(read(said('There are two.')).finished).toBe(false);
  });

  test.each([
    [{ shellToolCall: { args: { command: 'npm test' } } }, 'shell: npm test'],
    [{ readToolCall: { args: { path: 'a.md' } } }, 'read: a.md'],
    [{ toolCallId: 'x', editToolCall: { args: { path: 'b' } } }, 'edit: b'],
    [{ function: { name: 'todo', arguments: '{}' } }, 'todo'],
    [{ shellToolCall: { args: { command: 'a\n  b' } } }, 'shell: a b']
  ])('progress is the tool call %j', (toolCall, progress) => {
    expect(read(call(toolCall)).progress).toBe(progress);
  });

  test.each([
    ['rejected', { command: 'rm -r x', reason: '' }, 'shell: rm -r x'],
    ['permissionDenied', { error: 'no' }, 'shell'],
    ['writePermissionDenied', { path: '/etc/x' }, 'shell: /etc/x']
  ])('a call that ends as %s is a denial', (kind, detail, denial) => {
    const completed = { shellToolCall: { result: { [kind]: detail } } };
    expect(read(call(completed, 'completed')).denials).toEqual([denial]);
  });

  test('a call that succeeds or fails is not a denial', () => {
    for (const result of [{ success: {} }, { spawnError: { error: 'no' } }])
      expect(
        read(call({ shellToolCall: { result } }, 'completed'))
      ).not.toHaveProperty('denials');
  });

  test.each([
    [broken, 'provider_error', 'Request timed out'],
    [{ ...broken, is_error: 'yes' }, 'provider_error', 'Request timed out'],
    [{ ...success, subtype: 'error', result: '' }, 'provider_error', /Cursor/],
    [{ ...success, result: undefined }, 'bad_output', /without an answer/],
    [
      { ...broken, result: "You've hit your usage limit" },
      'quota',
      /usage limit/
    ]
  ])('%j is a failure', (event, code, message) => {
    const reply = read(said('Half an ans'), event);
    expect(reply).toMatchObject({ finished: true, text: '' });
    expect(reply.failure?.code).toBe(code);
    expect(reply.failure?.message).toMatch(message);
  });

  test('a failure is final, and a failure replaces a success', () => {
    expect(read(broken, success)).toEqual(read(broken));
    expect(read(success, broken).failure?.code).toBe('provider_error');
  });

  test('any event is read without an error and without a change of the reply', () => {
    const keys = fc.constantFrom(
      ...['type', 'subtype', 'message', 'content', 'usage', 'is_error'],
      ...['result', 'tool_call', 'shellToolCall', 'model_call_id']
    );
    const field = fc.oneof(
      fc.jsonValue(),
      fc.dictionary(keys, fc.jsonValue()),
      fc.constantFrom('result', 'assistant', 'system', 'tool_call', 'success')
    );
    const events = fc.oneof(fc.dictionary(keys, field), fc.jsonValue());
    fc.assert(
      fc.property(events, (event) => {
        const before = Object.freeze({ ...nothing });
        const reply = cursorAgent.read(before, event);
        expect(typeof reply.text).toBe('string');
        expect(before).toEqual(nothing);
      })
    );
    expect(read(undefined, null, 1, 'x', [], { type: {} })).toEqual(nothing);
    expect(read(call(null), call([]), call({}))).toEqual(nothing);
  });
});

test.each([
  ['⚠ Workspace Trust Required', 'permission_denied'],
  ["Error: Authentication required. Run 'agent login'", 'not_logged_in'],
  ['⚠ Warning: The provided API key is invalid.', 'auth'],
  ['Cannot use this model: x. Available models: auto', 'model_not_found'],
  ['Named models unavailable Free plans can only use Auto', 'model_not_found'],
  ['Error: S: [resource_exhausted] Error', 'quota'],
  ['Sandbox mode is enabled but not available', 'spawn_failed'],
  ["error: unknown option '--trust'", 'spawn_failed'],
  ['{"type":"assistant","text":"the usage limit"}', undefined],
  ['all is well', undefined]
])('"%s" on stderr is %s', (text, code) => {
  expect(cursorAgent.failure(text)).toBe(code);
});

test.each([
  ['{"status":"authenticated","isAuthenticated":true}', 'logged in'],
  ['{"status":"unauthenticated","isAuthenticated":false}', 'not logged in'],
  ['✓ Logged in as a@b.example', 'logged in'],
  ['Not logged in', 'not logged in'],
  ['', 'unknown']
])('the login state "%s" is %s', (stdout, state) => {
  const output = { exitCode: 0, stdout, stderr: '' };
  expect(cursorAgent.probe.login.read(output)).toBe(state);
});
