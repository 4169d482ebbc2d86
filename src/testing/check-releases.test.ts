import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  failuresIn,
  isNewer,
  passedIn,
  reportOf
} from '../../scripts/releases-report.mjs';

const script = join(
  ...[import.meta.dirname, '..', '..', 'scripts', 'check-releases.mjs']
);

function checkReleases(...args: string[]) {
  const registry = { npm_config_registry: 'http://127.0.0.1:9' };
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [script, ...args],
    { encoding: 'utf8', env: { ...process.env, ...registry } }
  );
  return { status, stdout, stderr };
}

test('without npm it says so in a sentence, and exits with 2', () => {
  const { status, stdout, stderr } = checkReleases();
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  expect(stderr).toMatch(
    /^check-releases: npm does not say which @anthropic-ai\/claude-code is the latest: .+\. Check that npm reaches its registry, and run it again\.\n$/
  );
});

test.each(['@openai/codex', 'left-pad@1.0.0', 'codex@0.168.0'])(
  'it does not try "%s"',
  (name) => {
    const { status, stderr } = checkReleases('--package', name);
    expect(status).toBe(2);
    expect(stderr).toMatch(/^check-releases: .* is none of ours\. .*\n$/);
  }
);

test('versions are compared as numbers', () => {
  expect(isNewer('0.10.0', '0.9.9')).toBe(true);
  expect(isNewer('1.0.9', '1.0.10')).toBe(false);
  expect(isNewer('1.0.9', '1.0.9')).toBe(false);
});

const results = {
  testResults: [
    {
      name: '/x/codex.test.ts',
      message: '',
      assertionResults: [
        { status: 'passed', fullName: 'a turn works', failureMessages: [] },
        {
          status: 'failed',
          fullName: 'a turn ends',
          failureMessages: [
            '\u001b[31mAssertionError: expected 1 to be 2\u001b[39m\n  at x.ts:1'
          ]
        }
      ]
    },
    { name: '/x/y.test.ts', message: '\nNo such file', assertionResults: [] }
  ]
};

test('what failed is told in a line each, a file that did not run, too', () => {
  expect(passedIn(results)).toBe(1);
  expect(failuresIn(results)).toEqual([
    'a turn ends: AssertionError: expected 1 to be 2',
    'y.test.ts: No such file'
  ]);
});

test('the table has a row for each program, with what is broken below', () => {
  const row = { name: 'codex', pinned: '0.9.0', tried: '0.10.0' };
  const rows = [
    { ...row, result: 'broken', failures: failuresIn(results) },
    { ...row, name: 'gemini-cli', result: 'works, 9 tests', failures: [] }
  ];
  expect(reportOf(rows).split('\n')).toEqual([
    'NAME        PINNED  TRIED   RESULT',
    'codex       0.9.0   0.10.0  broken',
    '  a turn ends: AssertionError: expected 1 to be 2',
    '  y.test.ts: No such file',
    'gemini-cli  0.9.0   0.10.0  works, 9 tests'
  ]);
});
