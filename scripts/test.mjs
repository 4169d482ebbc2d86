#!/usr/bin/env node
/**
 * `npm test`: every check, in order, up to the first that fails. The last
 * line counts the tests, and the other checks as one each. Needs no key, no
 * agent program and no network: what a test needs and the machine lacks is
 * skipped by name. With TROUPE_CI=1 that is a failure too.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';

const root = join(import.meta.dirname, '..');
const strict = process.env.TROUPE_CI === '1';
const count = { passed: 0, failed: 0, skipped: 0 };

const steps = [
  ['style and lint', () => tool('biome', 'check', '.')],
  ['types', () => tool('tsc', '--noEmit')],
  ['nothing unused', () => tool('knip')],
  ['build', () => node('scripts/build.mjs', '--types')],
  [
    'packages as their source says',
    () => node('scripts/packages.mjs', '--check')
  ],
  ['package', () => tool('publint', '--strict', '--pack', 'false')],
  ['tests', runTests],
  ['start-up within its budget', () => measured('start.mjs')],
  ['spawns within their budget', () => measured('spawn.mjs')],
  ['runs within their budget', () => measured('run-overhead.mjs')],
  [
    '100 MB of output',
    () => measured('output.mjs', '--runs', '3', '--gigabyte-runs', '0')
  ],
  ['200 agents at once', () => measured('load.mjs', '--agents', '200')],
  ['nothing grows under load', () => measured('soak.mjs')]
];

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

/** A check that counts as one. Returns what is wrong, if anything is. */
function counted(problem) {
  count[problem === undefined ? 'passed' : 'failed'] += 1;
  return problem;
}

function tool(name, ...args) {
  return counted(run(join(root, 'node_modules', '.bin', name), args));
}

function node(file, ...args) {
  return counted(run(process.execPath, [join(root, file), ...args]));
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

/** One noisy run on a busy machine is no news; two are. */
function measured(name, ...args) {
  const bench = join(root, 'bench', name);
  const once = () => run(process.execPath, [bench, '--check', ...args]);
  return counted(once() && once());
}

function runTests() {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-results-'));
  const file = join(folder, 'results.json');
  try {
    const problem = run(join(root, 'node_modules', '.bin', 'vitest'), [
      'run',
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${file}`
    ]);
    if (!existsSync(file)) return counted(problem ?? 'no results');
    return judge(JSON.parse(readFileSync(file, 'utf8')).testResults, problem);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function judge(files, problem) {
  const failed = [];
  const left = [];
  for (const { name, status, message, assertionResults: tests } of files) {
    for (const test of tests) {
      const title = `${relative(root, name)}: ${test.fullName}`;
      if (test.status === 'passed') count.passed += 1;
      else if (test.status === 'failed') failed.push(title);
      else left.push(title);
    }
    // It did not load, or failed outside of its tests.
    if (status === 'failed' && !tests.some((test) => test.status === 'failed'))
      failed.push(`${relative(root, name)}: ${message}`);
  }
  for (const title of left) process.stdout.write(`skipped: ${title}\n`);
  for (const title of failed) process.stdout.write(`failed: ${title}\n`);
  // A test for another platform is not missing here.
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
