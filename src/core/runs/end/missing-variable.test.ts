import { expect, test } from 'vitest';
import { missingVariable, withVariableHint } from './missing-variable.ts';

test.each([
  ['Missing environment variable: `FAKE_KEY`.', 'FAKE_KEY'],
  [
    'When using Gemini API, you must specify the GEMINI_API_KEY environment variable.',
    'GEMINI_API_KEY'
  ],
  ['Error: "GATE_URL" is not set', 'GATE_URL'],
  ['The FILE is missing', undefined],
  ['not logged in', undefined]
])('the missing variable is found in %j', (text, name) => {
  expect(missingVariable(text)).toBe(name);
});

test('only a failure gets the hint', () => {
  const error = 'Missing environment variable: `FAKE_KEY`.';
  const failed = {
    status: 'failed',
    error,
    error_code: 'not_logged_in'
  } as const;
  const { error: told } = withVariableHint(failed, 'codex');
  expect(told).toContain(`${error}\n`);
  expect(told).toContain('"passEnv": ["FAKE_KEY"] in engines.codex');
  const canceled = {
    status: 'canceled',
    error,
    error_code: 'canceled'
  } as const;
  expect(withVariableHint(canceled, 'codex')).toBe(canceled);
});
