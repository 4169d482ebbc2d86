import { expect, test } from 'vitest';
import type { FailureCode } from '../../../plugin/plugin.ts';
import { classifyOutcome, type Evidence } from './classify-outcome.ts';

const silent: Evidence = {
  reply: { text: '', finished: false },
  exitCode: 0,
  stop: undefined,
  neverStarted: false,
  errorText: '',
  strayText: '',
  classify: () => undefined,
  label: 'Claude'
};

function judged(evidence: Partial<Evidence>) {
  return classifyOutcome({ ...silent, ...evidence });
}

test('a program that refuses in plain text and exits with 0 is quoted', () => {
  const evidence = {
    strayText: 'Log in first.\n',
    classify: (text: string): FailureCode | undefined =>
      text.includes('Log in') ? 'not_logged_in' : undefined
  };
  expect(judged(evidence)).toMatchObject({
    status: 'failed',
    error_code: 'not_logged_in',
    error: expect.stringMatching(/final event\. It said: Log in first\.$/)
  });
  expect(judged({ ...evidence, classify: () => undefined })).toMatchObject({
    status: 'failed',
    error_code: 'bad_output'
  });
  expect(
    judged({ ...evidence, exitCode: 1, errorText: 'a worse word' })
  ).toMatchObject({ error: 'Claude exited with code 1: a worse word' });
  expect(judged({ ...evidence, exitCode: 1 })).toMatchObject({
    error: 'Claude failed: Log in first.'
  });
});

test('the last progress is quoted without a word that may be cut', () => {
  const progress = `Bash: curl -H "Authorization: token ghp_${'a1'.repeat(8)}…`;
  const stop = { type: 'stop', why: 'timeout', reason: undefined } as const;
  const quoted = (progress: string) =>
    judged({ reply: { text: '', finished: false, progress }, stop }).error;
  expect(quoted(progress)).toContain(
    '(last seen: Bash: curl -H "Authorization: token …)'
  );
  expect(quoted('waits for the network')).toContain(
    '(last seen: waits for the network)'
  );
});

const hint =
  '\nRun "troupe doctor" to see whether this version of Claude was tested.';

test('a program that refuses its arguments is quoted, not its help', () => {
  const errorText = `Unknown arguments: x\n\nUsage: claude\n${'  --flag  network, quota, 429\n'.repeat(90)}`;
  const refused = {
    exitCode: 1,
    errorText,
    classify: (): FailureCode => 'quota'
  };
  const error = 'Claude refused its arguments: Unknown arguments: x';
  expect(judged(refused)).toEqual({
    status: 'failed',
    error_code: 'spawn_failed',
    error
  });
  expect(judged({ ...refused, versioned: true }).error).toBe(error + hint);
});

test('an unexplained end points to the check of the version', () => {
  const versioned = true;
  expect(judged({ versioned }).error).toBe(
    `Claude exited with code 0 but its output ends before its final event.${hint}`
  );
  const classify = (): FailureCode => 'not_logged_in';
  const explained = { versioned, classify, strayText: 'Log in first.' };
  expect(judged(explained).error).not.toContain('troupe doctor');
  expect(judged({ versioned, exitCode: 1 }).error).not.toContain('doctor');
});

test('the end at a time limit names the way to raise it', () => {
  const stop = { type: 'stop', why: 'timeout' } as const;
  expect(judged({ stop }).error).toMatch(
    /Spawn again with a larger timeout\.$/
  );
  expect(judged({ stop, isMember: true })).toEqual({
    status: 'timeout',
    error_code: 'timeout',
    error:
      'Claude was stopped at its time limit; output so far is kept. Give it a smaller task, or ask the user to raise PROCESS_TIMEOUT_MS.'
  });
});
