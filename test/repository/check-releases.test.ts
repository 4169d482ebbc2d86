import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { versions } from '../../scripts/engine-versions.mjs';
import {
  failuresIn,
  objectionsOf,
  passedIn,
  reportOf,
  wordsOfNpm
} from '../../scripts/releases-report.mjs';
import { isAlive } from '../kit/agents/probe-agent.ts';
import { until } from '../kit/judges/until.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../kit/workspaces/temp-workspace.ts';

const script = join(
  ...[import.meta.dirname, '../../scripts/check-releases.mjs']
);

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(() => workspace.remove());

/** With an npm that does this, where nothing else is installed. */
function start(npm: string, args: string[], env: NodeJS.ProcessEnv = {}) {
  workspace.program('npm', npm);
  const path = { PATH: workspace.bin, HOME: workspace.home };
  return spawn(process.execPath, [script, ...args], {
    env: { ...path, ...env },
    stdio: ['ignore', 'pipe', 'pipe']
  });
}

async function endOf(child: ReturnType<typeof start>) {
  const [stdout, stderr, [status]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close')
  ]);
  return { status, stdout, stderr };
}

const refusing =
  'console.error("npm error code E404\\nnpm error 404 Not found"); process.exit(1);';

test('a program that npm does not answer for is a row, and the exit code is 2', async () => {
  const report = join(workspace.path, 'report.txt');
  const child = start(
    `if (process.argv[3] === '@openai/codex') { ${refusing} }
     const names = require(${JSON.stringify(pinned())});
     console.log(names[process.argv[3]]);`,
    ['--report', report]
  );
  const { status, stdout, stderr } = await endOf(child);
  expect({ status, stderr }).toEqual({ status: 2, stderr: '' });
  expect(stdout).toMatch(/^claude +(\d\S+) +\1 +tested already$/m);
  expect(stdout).toMatch(
    /^codex +\S+ +\? +not asked\n {2}npm does not say which @openai\/codex is the latest: npm error 404 Not found\. Check that npm reaches its registry, and run it again\.\ncopilot /m
  );
  expect(`\n${readFileSync(report, 'utf8')}`).toBe(stdout);
});

/** A file with the versions that are tested, by package. */
function pinned(): string {
  const all = Object.values(versions).map((one) => [one.package, one.version]);
  return workspace.write(
    'pinned.json',
    JSON.stringify(Object.fromEntries(all))
  );
}

test('what npm says is taken for a version only when it is one', async () => {
  const { status, stdout } = await endOf(
    start('console.log("--tag\\u001b[31m");', [])
  );
  expect(status).toBe(2);
  expect(stdout.match(/not asked\n.*: npm exited with 0\. /g)).toHaveLength(4);
});

test('the environment of a workflow is not passed to releases', async () => {
  const seen = join(workspace.path, 'seen');
  const npm = `require('node:fs').appendFileSync(${JSON.stringify(seen)}, Object.keys(process.env).join() + ',');`;
  const names = ['GITHUB_TOKEN', 'GITHUB_OUTPUT', 'ACTIONS_X', 'GH_TOKEN'];
  const env = Object.fromEntries(names.map((name) => [name, 'x']));
  await endOf(start(npm, [], { ...env, OTHER: 'x' }));
  const given = new Set(readFileSync(seen, 'utf8').split(','));
  expect(given).toContain('OTHER');
  expect(names.filter((name) => given.has(name))).toEqual([]);
});

test('when it is stopped it ends what it started and reports what it knows', async () => {
  const pid = join(workspace.path, 'pid');
  const child = start(
    `require('node:fs').writeFileSync(${JSON.stringify(pid)}, String(process.pid));
     setInterval(() => undefined, 1000);`,
    []
  );
  const end = endOf(child);
  await until('npm', () => existsSync(pid));
  child.kill('SIGTERM');
  const { status, stdout } = await end;
  expect(status).toBe(143);
  expect(stdout.match(/not asked\n.*stopped by SIGTERM/g)).toHaveLength(4);
  expect(isAlive(Number(readFileSync(pid, 'utf8')))).toBe(false);
});

test.each([
  ['@openai/codex', 'is none of ours'],
  ['left-pad@1.0.0', 'is none of ours'],
  ['codex@0.168.0', 'is none of ours'],
  ['@openai/codex@', 'has no version'],
  ['@openai/codex@latest', 'has no version'],
  ['@openai/codex@^0.168.0', 'has no version'],
  ['@openai/codex@0.168.0 --foo', 'has no version']
])('it does not try "%s", which %s', async (name, what) => {
  const { status, stderr } = await endOf(start('', ['--package', name]));
  expect(status).toBe(2);
  expect(stderr).toBe(
    `check-releases: "${name}" ${what}. Name one with its version, as in @anthropic-ai/claude-code@1.2.3; there are ${packages}.\n`
  );
});

const packages = Object.values(versions)
  .map((one) => one.package)
  .join(', ');

test('what doctor says of a flag counts, and that it says nothing', () => {
  const said = (stdout: string, stderr = '') =>
    objectionsOf({ stdout, stderr, status: 1 });
  const found = (tested: unknown) =>
    said(JSON.stringify({ engines: [{ tested }] }));
  expect(found({ says: 'newer than verified (1.0)', gone: [] })).toEqual([]);
  expect(found({ says: 'flag --x is gone', gone: ['--x'] })).toEqual([
    'troupe doctor: flag --x is gone'
  ]);
  expect(found(null)).toEqual(['troupe doctor: no answer']);
  expect(said('', 'troupe: it broke\n  at x')).toEqual([
    'troupe doctor: troupe: it broke'
  ]);
  for (const stdout of ['', '{', '{}', 'null'])
    expect(said(stdout)).toEqual([
      'troupe doctor: it ended with 1, without JSON'
    ]);
});

test("the cause in npm's output is reported, or at least its exit code", () => {
  const said =
    'npm warn old\nnpm error code E1\n\u001b[31mnpm error no\u001b[0m';
  expect(wordsOfNpm(said, 1)).toBe('npm error no');
  expect(wordsOfNpm('npm warn old\n\n', 254)).toBe('npm exited with 254');
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

test('each failure is one line, also a file that did not run', () => {
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
