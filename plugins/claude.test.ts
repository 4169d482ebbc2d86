import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { EngineRequest, Reply } from '../src/plugin/plugin.ts';
import claude from './claude.ts';

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
const broken = { ...success, is_error: true, result: 'API Error: 400 Bad' };

function read(...events: unknown[]): Reply {
  return events.reduce<Reply>(claude.read, nothing);
}

describe('arguments', () => {
  test('a full run may use every tool without being asked', () => {
    expect(claude.args(request).join(' ')).toBe(
      '-p --output-format stream-json --verbose --model sonnet' +
        ' --tools Bash,Read,Write,Edit,Glob,Grep' +
        ' --dangerously-skip-permissions'
    );
  });

  test('a writing run edits files but runs no commands', () => {
    const args = claude.args({ ...request, access: 'write' });
    expect(args.slice(-4).join(' ')).toBe(
      '--tools Read,Write,Edit,Glob,Grep --permission-mode acceptEdits'
    );
  });

  test('a reading run has no tool that changes anything', () => {
    const args = claude.args({ ...request, access: 'read' });
    expect(args.slice(-4).join(' ')).toBe(
      '--tools Read,Glob,Grep --permission-mode dontAsk'
    );
  });

  test.each(['haiku', 'opus', 'claude-sonnet-5-5'])(
    'the model %s is passed on unchanged',
    (model) => {
      const args = claude.args({ ...request, model });
      expect(args[args.indexOf('--model') + 1]).toBe(model);
    }
  );

  test('a session id cannot add a flag', () => {
    const args = claude.args({ ...request, sessionId: '--verbose' });
    expect(args.at(-1)).toBe('--resume=--verbose');
  });

  test('a short system prompt is appended, and stdin is the prompt', () => {
    const briefed = { ...request, systemPrompt: 'Be brief.' };
    const args = claude.args(briefed);
    expect(args.slice(-2)).toEqual(['--append-system-prompt', 'Be brief.']);
    expect(claude.stdin(briefed)).toBe('Say hi');
  });

  test('a system prompt too long for an argument goes before the prompt', () => {
    const systemPrompt = 'ä'.repeat(60_000);
    const briefed = { ...request, systemPrompt };
    expect(claude.args(briefed)).not.toContain('--append-system-prompt');
    expect(claude.stdin(briefed)).toBe(`${systemPrompt}\n\nSay hi`);
  });

  test('so does a system prompt for a session, which would keep its first one', () => {
    const briefed = { ...request, sessionId: '1', systemPrompt: 'Be brief.' };
    expect(claude.args(briefed)).not.toContain('--append-system-prompt');
    expect(claude.stdin(briefed)).toBe('Be brief.\n\nSay hi');
  });
});

describe('environment', () => {
  afterEach(() => {
    vi.unstubAllEnvs();
  });

  test('an address is passed on, and retries are few unless the user sets their number', () => {
    vi.stubEnv('CLAUDE_CODE_MAX_RETRIES', undefined);
    expect(claude.env.set(request)).toEqual({ CLAUDE_CODE_MAX_RETRIES: '2' });
    vi.stubEnv('CLAUDE_CODE_MAX_RETRIES', '7');
    const baseUrl = 'http://127.0.0.1:8080';
    expect(claude.env.set({ ...request, baseUrl })).toEqual({
      CLAUDE_CODE_MAX_RETRIES: '7',
      ANTHROPIC_BASE_URL: baseUrl
    });
  });

  test('root counts as a sandbox only if permissions are skipped', () => {
    const asRoot = { ...request, asRoot: true };
    expect(claude.env.set(asRoot)).toHaveProperty('IS_SANDBOX', '1');
    expect(claude.env.set({ ...asRoot, access: 'read' })).not.toHaveProperty(
      'IS_SANDBOX'
    );
  });

  test('no variable of an outer Claude session is kept', () => {
    for (const name of claude.env.keep) {
      const pattern = new RegExp(`^${name.replace('*', '.*')}$`);
      expect('CLAUDECODE').not.toMatch(pattern);
      expect('CLAUDE_CODE_SESSION_ID').not.toMatch(pattern);
      expect('CLAUDE_PROJECT_DIR').not.toMatch(pattern);
    }
  });
});

test.each([
  ['Run the tests', 600],
  ['Write a unit test', 600],
  ['Testing is what it needs', 600],
  ['Get it tested', 600],
  ['Run pytest on src', 600],
  ['Run vitest, then jest', 600],
  ['Make python -m unittest pass', 600],
  ['Run the testsuite', 600],
  ['Mend test_utils.py', 600],
  ['Look at src/core/fold.test.ts', 600],
  ['Add TESTCASES', 600],
  ['Praise the latest contestant', 300],
  ['Attest to it, without protest, in this contest', 300],
  ['The greatest testament', 300]
])('the time limit of "%s" is %i seconds', (prompt, seconds) => {
  expect(claude.timeoutSeconds(prompt)).toBe(seconds);
});

test.each([
  ['error_max_turns', 'Reached maximum number of turns (3)'],
  ['error_max_budget_usd', 'Reached maximum budget ($0.3)'],
  ['error_max_turns', '']
])('a result of %s is a budget that was reached', (subtype, said) => {
  const event = { type: 'result', subtype, is_error: true, errors: [said] };
  const { failure } = claude.read({ text: '', finished: false }, event);
  expect(failure).toMatchObject({ code: 'budget' });
});

describe('reading events', () => {
  test('shows the tool in use, on one line of at most 120 characters', () => {
    const call = (command: string) => ({
      type: 'assistant',
      message: {
        content: [{ type: 'tool_use', name: 'Bash', input: { command } }]
      }
    });
    expect(read(call('npm test')).progress).toBe('Bash: npm test');
    const content = [{ type: 'text', text: 'First.\nNow the parser.\n' }];
    const said = { type: 'assistant', message: { content } };
    expect(read(call('npm test'), said).progress).toBe('Now the parser.');
    const { progress } = read(call(`echo 1\n${'x'.repeat(200)}`));
    expect(progress).toMatch(/^Bash: echo 1 x+…$/);
    expect(progress).toHaveLength(120);
  });

  test('shows a retry and its reason', () => {
    const retry = {
      type: 'system',
      subtype: 'api_retry',
      attempt: 2,
      max_retries: 10
    };
    expect(read({ ...retry, error_status: 429 }).progress).toBe(
      'retry 2/10 after 429'
    );
    expect(
      read({ ...retry, error_status: null, error: 'timeout' }).progress
    ).toBe('retry 2/10 after timeout');
  });

  test('counts cached tokens as part of the prompt', () => {
    const usage = {
      input_tokens: 1,
      cache_creation_input_tokens: 20,
      cache_read_input_tokens: 300,
      output_tokens: 4
    };
    expect(read({ ...success, usage }).usage).toEqual({
      prompt_tokens: 321,
      completion_tokens: 4,
      total_tokens: 325
    });
  });

  test('the cost of a resumed run excludes earlier runs of its session', () => {
    const resumed = {
      ...success,
      total_cost_usd: 5,
      model_usage_since_last_result: {
        a: { costUSD: 0.5 },
        b: { costUSD: 0.25 }
      }
    };
    expect(read(resumed).costUsd).toBe(0.75);
    expect(read({ ...success, total_cost_usd: 5 }).costUsd).toBe(5);
  });

  test('a later result replaces an earlier one', () => {
    expect(read(success, { ...success, result: 'more' }).text).toBe('more');
    expect(read(success, { ...success, result: '' }).text).toBe('hi');
    expect(read(success, broken)).toMatchObject({
      text: '',
      failure: { code: 'provider_error', message: 'API Error: 400 Bad' }
    });
  });

  test('a failure is final', () => {
    const failed = read(broken);
    expect(read(broken, success)).toEqual(failed);
    expect(read(broken, { ...success, result: undefined })).toEqual(failed);
  });

  test.each([
    { type: 'result' },
    { ...success, result: undefined },
    { ...success, terminal_reason: 'aborted_streaming' },
    { ...success, is_error: 'true' },
    { ...success, is_error: null },
    { ...success, subtype: 'error_max_turns' }
  ])('%j is no success', (event) => {
    expect(read(event)).toMatchObject({ finished: true, failure: {} });
  });

  test('any event is read without an error and without a change of the reply', () => {
    const keys = fc.constantFrom(
      ...['type', 'subtype', 'message', 'content', 'usage', 'errors'],
      ...['result', 'permission_denials', 'model_usage_since_last_result']
    );
    const field = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom('result', 'assistant', 'system', 'init', 'api_retry')
    );
    const events = fc.oneof(fc.dictionary(keys, field), fc.jsonValue());
    fc.assert(
      fc.property(events, (event) => {
        const before = Object.freeze({ ...nothing });
        const reply = claude.read(before, event);
        expect(typeof reply.text).toBe('string');
        expect(before).toEqual(nothing);
      })
    );
    expect(read(undefined, null, 1, 'x', [], [[]], { type: {} })).toEqual(
      nothing
    );
  });
});

describe('failures in words', () => {
  test.each([
    ['No conversation found with session ID: 1', 'spawn_failed'],
    ['Session ID 1 is already in use.', 'session_busy'],
    ['Not logged in · Please run /login', 'not_logged_in'],
    ['Failed to authenticate. API Error: 401 no', 'auth'],
    ['API Error: Connection refused (ECONNREFUSED)', 'network'],
    ["You've hit your session limit · resets 3pm", 'quota'],
    ['error: unknown option', undefined]
  ])('"%s" means %s', (said, code) => {
    expect(claude.failure(said)).toBe(code);
  });
});

test.each([
  ['{"loggedIn": true}', 'logged in'],
  ['{"loggedIn": false}', 'not logged in'],
  ['error: unknown command', 'unknown']
])('the login state %s means %s', (stdout, state) => {
  const output = { exitCode: 0, stdout, stderr: '' };
  expect(claude.probe.login.read(output)).toBe(state);
});
