import { expect, test } from 'vitest';
import type { FailureCode } from '../../plugin.ts';
import { type Evidence, judge } from './judge.ts';

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
  return judge({ ...silent, ...evidence });
}

test('a program that refuses in plain words and exits with 0 is quoted', () => {
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
