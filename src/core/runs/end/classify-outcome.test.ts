import { expect, test } from 'vitest';
import type { FailureCode, Reply } from '../../../plugin/plugin.ts';
import { notPrepared } from '../run.ts';
import type { StopReason } from '../run-files.ts';
import { classifyOutcome, type Evidence } from './classify-outcome.ts';

const answered: Reply = { text: 'Done.', finished: true };

const good: Evidence = {
  reply: answered,
  exitCode: 0,
  stop: undefined,
  neverStarted: false,
  errorText: '',
  strayText: '',
  classify: () => undefined,
  label: 'Claude'
};

const refused = { code: 'network', message: 'Nobody answers.' } as const;

function judged(evidence: Partial<Evidence>) {
  return classifyOutcome({ ...good, ...evidence });
}

function stopOf(why: StopReason, reason?: string): Evidence['stop'] {
  return { type: 'stop', why, ...(reason === undefined ? {} : { reason }) };
}

test('a run that its engine completed, with exit code 0 and no stop, is completed', () => {
  expect(judged({})).toEqual({
    status: 'completed',
    error: null,
    error_code: null
  });
});

const broken: [string, Partial<Evidence>, string, FailureCode, RegExp][] = [
  ['canceled', { stop: stopOf('canceled') }, 'canceled', 'canceled', /^Cance/],
  ['timed out', { stop: stopOf('timeout') }, 'timeout', 'timeout', /limit/],
  [
    'silent',
    { stop: stopOf('idle_timeout') },
    'timeout',
    'idle_timeout',
    /nothing for too long/
  ],
  [
    'too loud',
    { stop: stopOf('output_limit') },
    'failed',
    'output_limit',
    /passed the limit/
  ],
  [
    'failing again and again',
    { stop: { type: 'stop', why: 'retries', failure: refused } },
    'failed',
    'network',
    /again and again and was stopped: Nobody answers\./
  ],
  [
    'failing for an unknown reason',
    { stop: stopOf('retries') },
    'failed',
    'provider_error',
    /did not say why/
  ],
  [
    'left by its client',
    { stop: stopOf('disconnect') },
    'interrupted',
    'interrupted',
    /client left/
  ],
  [
    'canceled with a reason, queued',
    { stop: stopOf('canceled', 'not needed'), neverStarted: true },
    'canceled',
    'canceled',
    /^Canceled before it started: not needed$/
  ],
  [
    'never started',
    { neverStarted: true, exitCode: undefined },
    'interrupted',
    'interrupted',
    /Never started/
  ],
  [
    'never started, though prepared',
    { neverStarted: true, exitCode: undefined, wasPrepared: true },
    'interrupted',
    'interrupted',
    /^Never started: .* that has its engine and access /
  ],
  [
    'without exit code',
    { exitCode: undefined },
    'interrupted',
    'interrupted',
    /killed from outside/
  ],
  [
    'cut off',
    { reply: { text: 'Half an', finished: false } },
    'failed',
    'bad_output',
    /before its final event/
  ],
  [
    'cut off without the report of its program',
    { reply: { text: 'Half an', finished: false }, reportsItsEnd: true },
    'interrupted',
    'interrupted',
    /killed from outside/
  ],
  [
    'empty',
    { reply: { text: ' \n', finished: true } },
    'failed',
    'bad_output',
    /without any answer/
  ],
  ['exit 1', { exitCode: 1 }, 'failed', 'bad_output', /code 1$/],
  ['exit 126', { exitCode: 126 }, 'failed', 'spawn_failed', /could not start/],
  ['exit 127', { exitCode: 127 }, 'failed', 'spawn_failed', /could not start/],
  ['SIGHUP', { exitCode: 129 }, 'interrupted', 'interrupted', /SIGHUP/],
  ['SIGINT', { exitCode: 130 }, 'interrupted', 'interrupted', /SIGINT/],
  ['SIGABRT', { exitCode: 134 }, 'interrupted', 'interrupted', /SIGABRT/],
  ['SIGKILL', { exitCode: 137 }, 'interrupted', 'interrupted', /SIGKILL/],
  ['SIGSEGV', { exitCode: 139 }, 'interrupted', 'interrupted', /SIGSEGV/],
  ['SIGTERM', { exitCode: 143 }, 'interrupted', 'interrupted', /SIGTERM/],
  [
    'SIGKILL after words that look like a reason',
    { exitCode: 137, errorText: 'retry after 429 Too Many Requests' },
    'interrupted',
    'interrupted',
    /SIGKILL/
  ],
  ['exit 255', { exitCode: 255 }, 'failed', 'bad_output', /code 255/]
];

test.each(broken)(
  'a run that was %s is not completed',
  (_, evidence, status, code, error) => {
    expect(judged(evidence)).toEqual({
      status,
      error_code: code,
      error: expect.stringMatching(error)
    });
  }
);

const reported: FailureCode[] = [
  'auth',
  'quota',
  'rate_limited',
  'model_not_found',
  'permission_denied',
  'context_too_long',
  'network',
  'provider_error',
  'content_refused',
  'not_logged_in',
  'session_busy'
];

test.each(reported)(
  'the failure that an engine reports decides: %s',
  (code) => {
    const reply = { ...answered, failure: { code, message: 'So it is.' } };
    for (const exitCode of [0, 1, 137])
      expect(judged({ reply, exitCode })).toEqual({
        status: 'failed',
        error_code: code,
        error: 'So it is.'
      });
  }
);

test.each(['canceled', 'interrupted'] as const)(
  'an engine that says it was %s has that status',
  (code) => {
    const reply = { ...answered, failure: { code, message: 'x' } };
    expect(judged({ reply })).toMatchObject({ status: code, error_code: code });
  }
);

test('our own stop decides, whatever the engine reports', () => {
  const reply: Reply = {
    ...answered,
    failure: { code: 'interrupted', message: 'x' }
  };
  for (const exitCode of [0, 1, 143, undefined])
    expect(judged({ reply, exitCode, stop: stopOf('timeout') })).toMatchObject({
      status: 'timeout'
    });
});

test('a failed process is classified by its stderr', () => {
  const evidence = {
    exitCode: 1,
    errorText: '  429 slow down \n',
    classify: (text: string): FailureCode | undefined =>
      text.includes('429') ? 'rate_limited' : undefined
  };
  expect(judged(evidence)).toEqual({
    status: 'failed',
    error_code: 'rate_limited',
    error: 'Claude failed: 429 slow down'
  });
  expect(judged({ ...evidence, exitCode: 0 }).status).toBe('completed');
});

test('the end of a long stderr is quoted, beginning with a whole word', () => {
  const errorText = `${'word '.repeat(1000)}the end`;
  const { error } = judged({ exitCode: 1, errorText });
  expect(error).toMatch(/code 1: … ?word word .* the end$/);
  expect(error?.length).toBeLessThan(1600);
});

test('only a run whose engine says so is completed, whatever the evidence', () => {
  const stops = [undefined, stopOf('canceled'), stopOf('output_limit')];
  for (const exitCode of [undefined, 0, 1, 2, 130, 137])
    for (const stop of stops)
      for (const neverStarted of [true, false])
        for (const finished of [true, false])
          for (const text of ['', 'x'])
            for (const failure of [
              undefined,
              { code: 'auth' as const, message: 'm' }
            ]) {
              const { status, error, error_code } = judged({
                exitCode,
                stop,
                neverStarted,
                reply: { text, finished, ...(failure ? { failure } : {}) }
              });
              const complete =
                exitCode === 0 &&
                !stop &&
                !neverStarted &&
                finished &&
                text !== '' &&
                !failure;
              expect(status === 'completed').toBe(complete);
              expect(error === null && error_code === null).toBe(complete);
            }
});

test('text that troupe wrote is not classified as a failure of the engine', () => {
  const evidence: Partial<Evidence> = {
    exitCode: notPrepared,
    errorText: 'troupe: there is no worktree for it: Permission denied',
    classify: () => 'permission_denied'
  };
  expect(judged({ ...evidence, neverStarted: true })).toEqual({
    status: 'failed',
    error_code: 'spawn_failed',
    error:
      'Claude could not start: troupe: there is no worktree for it: Permission denied'
  });
  expect(judged(evidence).error_code).toBe('permission_denied');
});
