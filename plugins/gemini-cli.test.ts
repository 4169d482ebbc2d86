import { existsSync } from 'node:fs';
import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { EngineRequest, Reply } from '../src/plugin/plugin.ts';
import geminiCli from './gemini-cli.ts';

const request: EngineRequest = {
  prompt: 'Say hi',
  access: 'full',
  cwd: '/workspace',
  asRoot: false
};
const nothing: Reply = { text: '', finished: false };
const success = { type: 'result', status: 'success' };
const broken = { type: 'result', status: 'error' };

function said(content: string, role = 'assistant') {
  return { type: 'message', role, content, delta: true };
}

function use(tool_name: string, parameters: object) {
  return { type: 'tool_use', tool_name, parameters };
}

function refused(type: string, message: string) {
  const tool_id = 'write_file__write_file_1_0';
  const error = { type, message };
  return { type: 'tool_result', tool_id, status: 'error', error };
}

function failed(message: string) {
  return { ...broken, error: { type: 'unknown', message } };
}

function read(...events: unknown[]): Reply {
  return events.reduce<Reply>(geminiCli.read, nothing);
}

describe('arguments', () => {
  const common =
    '--output-format stream-json --raw-output --accept-raw-output-risk';

  test('a full run needs no confirmation', () => {
    const args = geminiCli.args(request).join(' ');
    expect(args).toBe(`${common} --approval-mode yolo`);
  });

  test.each([
    ['read', 'default'],
    ['write', 'auto_edit']
  ] as const)('access %s is held by a mode and a policy', (access, mode) => {
    const args = geminiCli.args({ ...request, access });
    expect(args.slice(0, -1).join(' ')).toBe(
      `${common} --approval-mode ${mode}`
    );
    const [flag, file = ''] = args.at(-1)?.split('=') ?? [];
    expect(flag).toBe('--admin-policy');
    // Gemini CLI silently ignores a missing policy file.
    expect(existsSync(file)).toBe(true);
    expect(geminiCli.access[access]).toBe('enforced');
  });

  test('a session id cannot add a flag', () => {
    const args = geminiCli.args({ ...request, sessionId: '--yolo' });
    expect(args.at(-1)).toBe('--resume=--yolo');
  });

  test('a model is named only if there is one', () => {
    expect(geminiCli.args(request)).not.toContain('--model');
    const args = geminiCli.args({ ...request, model: 'flash' });
    expect(args.slice(-2)).toEqual(['--model', 'flash']);
  });
});

describe('environment', () => {
  afterEach(() => {
    vi.unstubAllEnvs();
  });

  test('trusts the directory unless the user sets otherwise', () => {
    vi.stubEnv('GEMINI_CLI_TRUST_WORKSPACE', undefined);
    expect(geminiCli.env.set(request)).toEqual({
      GEMINI_CLI_TRUST_WORKSPACE: 'true'
    });
    vi.stubEnv('GEMINI_CLI_TRUST_WORKSPACE', 'false');
    expect(geminiCli.env.set(request)).toEqual({
      GEMINI_CLI_TRUST_WORKSPACE: 'false'
    });
  });

  test('an address is passed on for both of its APIs', () => {
    const baseUrl = 'http://127.0.0.1:8080';
    expect(geminiCli.env.set({ ...request, baseUrl })).toMatchObject({
      GOOGLE_GEMINI_BASE_URL: baseUrl,
      GOOGLE_VERTEX_BASE_URL: baseUrl
    });
  });

  test.each(['GEMINI_CLI', 'GEMINI_CLI_IDE_*', 'GEMINI_CLI_NO_RELAUNCH'])(
    '%s of an outer session is dropped',
    (name) => {
      expect(geminiCli.env.drop).toContain(name);
    }
  );
});

describe('reading events', () => {
  test('the answer is the text after the last tool call', () => {
    const events = [
      said('Say hi', 'user'),
      said('Let me look.'),
      use('read_file', { file_path: 'a.txt' }),
      said('It '),
      said('says hi.'),
      success
    ];
    expect(read(...events)).toMatchObject({
      text: 'It says hi.',
      finished: true,
      progress: 'read_file: a.txt'
    });
  });

  test('a run that only calls tools has no answer', () => {
    expect(read(said('Look:'), use('glob', {}), success).text).toBe('');
  });

  test('reports session and model, and at the end the busiest model', () => {
    const init = { type: 'init', session_id: 's-1', model: 'auto' };
    expect(read(init)).toMatchObject({ sessionId: 's-1', model: 'auto' });
    const models = {
      router: { total_tokens: 12 },
      worker: { total_tokens: 1222 },
      other: {}
    };
    const stats = { total_tokens: 1234, input_tokens: 1200, output_tokens: 34 };
    const end = { ...success, stats: { ...stats, models } };
    expect(read(init, end)).toMatchObject({
      model: 'worker',
      usage: { prompt_tokens: 1200, completion_tokens: 34, total_tokens: 1234 }
    });
    expect(read(init, success)).toMatchObject({ model: 'auto' });
  });

  test('reports which calls were refused for lack of permission', () => {
    const outside =
      'Path not in workspace: Attempted path "/etc/x" resolves outside';
    const events = [
      refused('invalid_tool_params', outside),
      refused('policy_violation', 'Tool execution denied by policy.'),
      refused('file_not_found', 'There is no such file.')
    ];
    expect(read(...events).denials).toEqual([
      'write_file: /etc/x',
      'write_file'
    ]);
  });

  test('a remark is progress, an error is a failure', () => {
    const remark = { type: 'error', severity: 'warning', message: 'Hm.' };
    expect(read(remark)).toEqual({ ...nothing, progress: 'Hm.' });
    const grave = { ...remark, severity: 'error' };
    expect(read(said('x'), grave, success)).toMatchObject({
      text: '',
      finished: true,
      failure: { code: 'bad_output', message: 'Hm.' }
    });
  });

  test('a run that was stopped for a loop has not succeeded', () => {
    const message = 'Loop detected, stopping execution';
    const remark = { type: 'error', severity: 'warning', message };
    expect(read(said('x'), remark, success).failure?.code).toBe('bad_output');
  });

  test('events after the end are ignored', () => {
    const end = read(said('hi'), failed('[API Error: terminated]'));
    expect(end.failure).toEqual({ code: 'network', message: 'terminated' });
    const late = [said('more'), success];
    expect(
      read(said('hi'), failed('[API Error: terminated]'), ...late)
    ).toEqual(end);
  });

  test.each([broken, { type: 'result' }, { ...success, status: 'Success' }])(
    '%j is not a success',
    (event) => {
      expect(read(event)).toMatchObject({
        finished: true,
        failure: { code: 'provider_error' }
      });
    }
  );

  test('any event is read without an error and without a change of the reply', () => {
    const keys = fc.constantFrom(
      ...['role', 'content', 'status', 'stats', 'error', 'message'],
      ...['tool_id', 'tool_name', 'parameters', 'severity', 'session_id']
    );
    const types = fc.constantFrom(
      ...['init', 'message', 'tool_use', 'tool_result', 'error', 'result']
    );
    const typed = fc
      .tuple(types, fc.dictionary(keys, fc.jsonValue()))
      .map(([type, fields]) => ({ ...fields, type }));
    fc.assert(
      fc.property(fc.oneof(typed, fc.jsonValue()), (event) => {
        const before = Object.freeze({ ...nothing });
        expect(typeof geminiCli.read(before, event).text).toBe('string');
        expect(before).toEqual(nothing);
      })
    );
  });
});

test.each([
  ['Please set an Auth method in your settings.json', 'not_logged_in'],
  ['Invalid auth method selected.', 'not_logged_in'],
  ['Error resuming session: No previous sessions found', 'spawn_failed'],
  ['{"error":{"code":401,"message":"no"}}', 'auth'],
  ['{"error":{"code":429,"message":"Slow down"}}', 'rate_limited'],
  ['Slow down\nPlease wait and try again later. … a quota', 'rate_limited'],
  ['You exceeded your current quota. … try again later', 'quota'],
  ['models/x is not found for API version v1beta', 'model_not_found'],
  ['The model `x` does not exist', 'model_not_found'],
  ['Requested entity was not found.', 'model_not_found'],
  ['{"error":{"code":402,"message":"Pay first"}}', 'quota'],
  ['{"error":{"code":503,"message":"Overloaded"}}', 'provider_error'],
  ['exception TypeError: fetch failed sending request', 'network'],
  ['Ripgrep is not available. Falling back.', undefined]
])('"%s" means %s', (words, code) => {
  expect(geminiCli.failure(words)).toBe(code);
});
