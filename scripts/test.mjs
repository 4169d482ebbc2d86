#!/usr/bin/env node
/**
 * `npm test`: runs all checks in order, up to the first that fails; of the e2e
 * tests those of every day (test/e2e/everyday.ts). The last line counts the
 * tests, and each other check as one. Needs no key, no agent program and no
 * network: tests whose needs the machine lacks are skipped and named. With
 * TROUPE_CI=1, all tests run, and a skipped one is a failure, except for tests
 * of other platforms.
 *
 *     --all        with all e2e tests
 *     --static     only the checks that run no test
 *     --coverage   only the unit tests, with their coverage
 *     --tests …    only the tests; the rest of the arguments goes to vitest
 *     --budgets    only the benches
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

const root = join(import.meta.dirname, '..');
const strict = process.env.TROUPE_CI === '1';
const count = { passed: 0, failed: 0, skipped: 0 };

const [only, ...more] = process.argv.slice(2);
if (only === undefined && !strict) process.env.TROUPE_TEST = 'everyday';
const bin = (name, ...args) =>
  counted(run(join(root, 'node_modules', '.bin', name), args));
const node = (file, ...args) =>
  counted(run(process.execPath, [join(root, file), ...args]));

const groups = {
  '--static': [
    ['style and lint', () => bin('biome', 'check', '.')],
    ['types', () => bin('tsc', '--noEmit')],
    ['nothing unused', () => bin('knip')],
    ['build', () => node('scripts/build.mjs', '--types')],
    [
      'packages as their source says',
      () => node('scripts/packages.mjs', '--check')
    ],
    ['package', () => bin('publint', '--strict', '--pack', 'false')]
  ],
  '--tests': [['tests', () => runTests(more)]],
  '--budgets': [
    ['start-up within its budget', () => measured('start.mjs')],
    ['spawns within their budget', () => measured('spawn.mjs')],
    ['runs within their budget', () => measured('run-overhead.mjs')],
    [
      '100 MB of output',
      () => measured('output.mjs', '--runs', '3', '--gigabyte-runs', '0')
    ],
    ['200 agents at once', () => measured('load.mjs', '--agents', '200')],
    ['nothing grows under load', () => measured('soak.mjs')]
  ]
};
const coverage = [
  [
    'unit tests with coverage',
    () => bin('vitest', 'run', '--project', 'unit*', '--coverage')
  ]
];
const steps =
  only === '--coverage'
    ? coverage
    : (groups[only] ?? Object.values(groups).flat());

for (const [name, step] of steps) {
  process.stdout.write(`\n== ${name}\n`);
  const problem = step();
  if (problem === undefined) continue;
  process.stdout.write(`\nFAILED at "${name}": ${problem}\n`);
  process.exitCode = 1;
  break;
}
const skipped = count.skipped === 0 ? '' : `, ${count.skipped} skipped`;
process.stdout.write(
  `\n${count.passed} passed, ${count.failed} failed${skipped}\n`
);

/** Counts a check as one. Returns the problem, if there is one. */
function counted(problem) {
  count[problem === undefined ? 'passed' : 'failed'] += 1;
  return problem;
}

function run(command, args) {
  const { status, signal, error } = spawnSync(command, args, {
    cwd: root,
    stdio: 'inherit',
    shell: process.platform === 'win32'
  });
  if (error) return error.message;
  if (signal) return `ended by ${signal}`;
  return status === 0 ? undefined : `exit code ${status}`;
}

/** Fails after two failed runs: a busy machine may cause one. */
function measured(name, ...args) {
  const bench = join(root, 'bench', name);
  const once = () => run(process.execPath, [bench, '--check', ...args]);
  return counted(once() && once());
}

function runTests(options) {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-results-'));
  const file = join(folder, 'results.json');
  try {
    const problem = run(join(root, 'node_modules', '.bin', 'vitest'), [
      'run',
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${file}`,
      ...options
    ]);
    if (!existsSync(file)) return counted(problem ?? 'no results');
    return judge(JSON.parse(readFileSync(file, 'utf8')).testResults, problem);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A failed test with the beginning of its first failure, without colors. */
function described(title, { failureMessages: [failure = ''] }) {
  const text = stripVTControlCharacters(failure).slice(0, 2000).trimEnd();
  return `${title}\n${text.replace(/^/gm, '    ')}`;
}

function judge(files, problem) {
  const failed = [];
  const left = [];
  for (const { name, status, message, assertionResults: tests } of files) {
    for (const test of tests) {
      const title = `${relative(root, name)}: ${test.fullName}`;
      if (test.status === 'passed') count.passed += 1;
      else if (test.status === 'failed') failed.push(described(title, test));
      else left.push(title);
    }
    // The file did not load, or failed outside its tests.
    if (status === 'failed' && !tests.some((test) => test.status === 'failed'))
      failed.push(`${relative(root, name)}: ${message}`);
  }
  for (const title of left) process.stdout.write(`skipped: ${title}\n`);
  for (const text of failed) process.stdout.write(`failed: ${text}\n`);
  // Once more without details: a CI may keep only the end of this output.
  if (failed.length > 1)
    for (const text of failed)
      process.stdout.write(`failed: ${text.split('\n', 1)[0]}\n`);
  // A test for another platform need not run here.
  const missing = left.filter((title) => !/\((not )?on \w+\)/.test(title));
  count.skipped += left.length;
  count.failed += failed.length;
  if (failed.length > 0) return `${failed.length} of the tests`;
  if (strict && missing.length > 0) {
    count.skipped -= missing.length;
    count.failed += missing.length;
    return `${missing.length} tests skipped, and TROUPE_CI=1 wants them all`;
  }
  return problem === undefined ? undefined : counted(problem);
}
