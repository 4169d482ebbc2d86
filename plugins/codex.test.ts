import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { EngineRequest, Reply } from '../src/plugin/plugin.ts';
import codex from './codex.ts';

const request: EngineRequest = {
  prompt: 'Say hi',
  access: 'full',
  cwd: '/workspace',
  asRoot: true
};
const nothing: Reply = { text: '', finished: false };
const completed = { type: 'turn.completed' };
const failed = { type: 'turn.failed', error: { message: 'Broken' } };

function says(text: unknown) {
  return { type: 'item.completed', item: { type: 'agent_message', text } };
}

function read(...events: unknown[]): Reply {
  return events.reduce<Reply>(codex.read, nothing);
}

describe('arguments', () => {
  test('a full run has neither sandbox nor approvals', () => {
    expect(codex.args(request)).toEqual([
      'exec',
      '--json',
      '--skip-git-repo-check',
      '--dangerously-bypass-approvals-and-sandbox',
      '-C',
      '/workspace',
      '-'
    ]);
  });

  test.each([
    ['write', 'workspace-write'],
    ['read', 'read-only']
  ] as const)('a run with %s access has the sandbox %s', (access, sandbox) => {
    const args = codex.args({ ...request, access });
    expect(args.slice(3, 5)).toEqual(['-s', sandbox]);
    expect(args).not.toContain('--dangerously-bypass-approvals-and-sandbox');
  });

  test('a session continues after all options, and its id is never an option', () => {
    const args = codex.args({ ...request, model: 'm', sessionId: '--last' });
    expect(args.slice(-6)).toEqual(['-m', 'm', 'resume', '--', '--last', '-']);
  });

  test('settings are TOML strings', () => {
    const systemPrompt = 'Say "no"\n\\ \u007f é';
    const baseUrl = 'http://127.0.0.1:8080/v1';
    const args = codex.args({ ...request, systemPrompt, baseUrl });
    expect(args.slice(6, -1)).toEqual([
      '-c',
      'openai_base_url="http://127.0.0.1:8080/v1"',
      '-c',
      'developer_instructions="Say \\"no\\"\\n\\\\ \\u007f é"'
    ]);
    const half = codex.args({ ...request, systemPrompt: 'a\ud83d' });
    expect(half).toContain('developer_instructions="a\ufffd"');
  });

  test('a system prompt that no argument can carry goes before the prompt', () => {
    const systemPrompt = 'x'.repeat(100_001);
    const briefed = { ...request, systemPrompt };
    expect(codex.args(briefed)).not.toContain('-c');
    expect(codex.stdin(briefed)).toBe(`${systemPrompt}\n\nSay hi`);
    expect(codex.stdin({ ...request, systemPrompt: 'Short.' })).toBe('Say hi');
    const resumed = { ...request, sessionId: '1', systemPrompt: 'Short.' };
    expect(codex.args(resumed)).not.toContain('-c');
    expect(codex.stdin(resumed)).toBe('Short.\n\nSay hi');
  });
});

describe('reading events', () => {
  test('the last message before the end is the answer', () => {
    const reply = read(says('First I look.'), says('Done.'), completed);
    expect(reply).toEqual({ text: 'Done.', finished: true });
    expect(read(says('Done.'), completed, says('Late.')).text).toBe('Done.');
  });

  test('stores the id of the thread to continue', () => {
    const started = { type: 'thread.started', thread_id: 't1' };
    expect(read(started).sessionId).toBe('t1');
  });

  test('counts the tokens of the session', () => {
    const usage = {
      input_tokens: 100,
      cached_input_tokens: 40,
      output_tokens: 5
    };
    expect(read({ ...completed, usage })).toMatchObject({
      usage: { prompt_tokens: 100, completion_tokens: 5, total_tokens: 105 },
      usageScope: 'session'
    });
  });

  test('warnings and reconnects are progress, not failures', () => {
    const warning = {
      type: 'item.completed',
      item: { type: 'error', message: 'Old.' }
    };
    const reconnect = { type: 'error', message: 'Reconnecting... 1/5' };
    expect(read(warning).progress).toBe('Old.');
    const reply = read(reconnect, says('Hi.'), completed);
    expect(reply).toEqual({
      text: 'Hi.',
      finished: true,
      progress: 'Reconnecting... 1/5'
    });
  });

  test('shows the current action', () => {
    const start = (item: object) =>
      read({ type: 'item.started', item }).progress;
    expect(start({ type: 'command_execution', command: 'npm test' })).toBe(
      'shell: npm test'
    );
    expect(start({ type: 'file_change', changes: [{ path: 'a' }, {}] })).toBe(
      'edit: a'
    );
    expect(start({ type: 'mcp_tool_call', server: 's', tool: 't' })).toBe(
      's: t'
    );
  });

  test('a file counts as edited once its change is made', () => {
    const change = (status: string) => ({
      type: 'item.completed',
      item: { type: 'file_change', status, changes: [{ path: status }] }
    });
    const made = read(change('failed'), change('completed'));
    expect(made.edits?.paths).toEqual(['completed']);
  });

  test('a failed turn has no answer and stays failed', () => {
    const reply = read(says('Half'), failed);
    expect(reply).toEqual({
      text: '',
      finished: true,
      failure: { code: 'provider_error', message: 'Broken' }
    });
    expect(read(says('Half'), failed, says('x'), completed)).toEqual(reply);
    expect(read(says('Half'), completed, failed)).toEqual(reply);
  });

  test('a failure without a message is still a failure', () => {
    expect(read({ type: 'turn.failed' }).failure?.message).toBe(
      'Codex stopped with an error.'
    );
  });

  test('shows the message inside the JSON of a provider', () => {
    const message = JSON.stringify({ error: { message: 'Too bad' } });
    expect(read({ ...failed, error: { message } }).failure?.message).toBe(
      'Too bad'
    );
  });

  test('any event is read without an error and without a change of the reply', () => {
    const keys = fc.constantFrom('type', 'item', 'error', 'message', 'usage');
    const field = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom(
        'error',
        'item.completed',
        'turn.failed',
        'turn.completed'
      ),
      fc.record({ type: fc.constant('file_change'), changes: fc.jsonValue() })
    );
    const events = fc.oneof(fc.dictionary(keys, field), fc.jsonValue());
    fc.assert(
      fc.property(events, (event) => {
        const before = Object.freeze({ ...nothing });
        const reply = codex.read(before, event);
        expect(typeof reply.text).toBe('string');
        expect(before).toEqual(nothing);
      })
    );
    expect(read(undefined, null, 1, 'x', [], says(7), { type: {} })).toEqual(
      nothing
    );
  });
});

describe('failures in words', () => {
  test.each([
    [
      'Error: thread/resume failed: no rollout found for thread id 1',
      'spawn_failed'
    ],
    ['Not inside a trusted directory and …', 'permission_denied'],
    ['Missing environment variable: `X`.', 'not_logged_in'],
    [
      'exceeded retry limit, last status: 429 Too Many Requests',
      'rate_limited'
    ],
    ['unexpected status 401 Unauthorized: no', 'auth'],
    ['unexpected status 503 Service Unavailable', 'provider_error'],
    ['error: unexpected argument', undefined]
  ])('"%s" means %s', (said, code) => {
    expect(codex.failure(said)).toBe(code);
  });
});

describe('login', () => {
  test.each([
    [0, 'Logged in using ChatGPT', 'logged in'],
    [1, 'Not logged in', 'not logged in'],
    [2, 'error: unrecognized subcommand', 'unknown']
  ])('exit code %i and "%s" mean %s', (exitCode, stderr, state) => {
    const output = { exitCode, stdout: '', stderr };
    expect(codex.probe.login.read(output)).toBe(state);
  });
});
