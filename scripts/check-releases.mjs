#!/usr/bin/env node
/**
 * Checks troupe with the newest releases: `npm run check:releases`.
 *
 * Queries npm for the latest version of each agent program. A version other
 * than the pinned one is installed into .cache/engines-latest/<name>, and
 * checked by its tests and by `troupe doctor`, with our model server on
 * loopback. Exits with 1 when a release is broken, and with 2 when npm did not
 * answer or could not install a release.
 *
 *     --package @openai/codex@0.168.0   checks only this version
 *     --report FILE                     also writes the table to a file
 */
import {
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync
} from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { parseArgs } from 'node:util';
import { versions } from './engine-versions.mjs';
import { installEngines } from './install-engines.mjs';
import {
  failuresIn,
  firstLine,
  objectionsOf,
  passedIn,
  reportOf,
  wordsOfNpm
} from './releases-report.mjs';
import { runProgram } from './run-program.mjs';

const root = join(import.meta.dirname, '..');
const minuteMs = 60_000;
const testMinutes = 20;
const known = 'tested already';
const works = 'works';
const broken = 'broken';
const notAsked = 'not asked';
const notInstalled = 'not installed';
const notTested = 'not tested';

// An untested release must not see the variables of the workflow.
for (const name of Object.keys(process.env))
  if (/^((GITHUB|ACTIONS)_|GH_TOKEN$)/.test(name)) delete process.env[name];

const interrupted = new AbortController();
const { signal } = interrupted;
for (const name of ['SIGINT', 'SIGTERM'])
  process.once(name, () => interrupted.abort(name));

try {
  process.exitCode = await check(optionsOf(process.argv.slice(2)));
} catch (error) {
  console.error(`check-releases: ${error.message}`);
  process.exitCode = 2;
}

function optionsOf(args) {
  const options = { package: { type: 'string' }, report: { type: 'string' } };
  return parseArgs({ args, options }).values;
}

async function check({ package: asked, report }) {
  const wanted = asked ? [askedFor(asked)] : await latest();
  if (!signal.aborted && wanted.some(({ result }) => !result)) await build();
  const rows = [];
  for (const row of wanted) rows.push(row.result ? row : await tryOut(row));
  const table = reportOf(rows);
  console.log(`\n${table}`);
  if (report) writeFileSync(report, `${table}\n`);
  return exitCodeOf(rows.map(({ result }) => result));
}

function exitCodeOf(results) {
  if (signal.aborted) return 128 + constants.signals[signal.reason];
  if (results.includes(broken)) return 1;
  return results.some((one) => one === notAsked || one === notInstalled)
    ? 2
    : 0;
}

/** `@openai/codex@0.168.0` → that version of that engine's program. */
function askedFor(text) {
  const at = text.lastIndexOf('@');
  const [wanted, version] = [text.slice(0, at), text.slice(at + 1)];
  const packages = Object.values(versions).map((one) => one.package);
  const [name] =
    Object.entries(versions).find(([, one]) => one.package === wanted) ?? [];
  if (at > 0 && name && isVersion(version)) return rowOf(name, version);
  const what = name ? 'has no version' : 'is none of ours';
  throw new Error(
    `"${text}" ${what}. Name one with its version, as in ${packages[0]}@1.2.3; there are ${packages.join(', ')}.`
  );
}

function isVersion(text) {
  return /^\d+\.\d+\.\d+(-[\w.-]+)?$/.test(text);
}

/** The latest version of each program, or why it is unknown. */
function latest() {
  const rows = Object.keys(versions).map(async (name) => {
    const { version, problem } = await latestOf(versions[name].package);
    if (problem) return rowOf(name, '?', notAsked, [problem]);
    const isKnown = version === versions[name].version;
    return rowOf(name, version, isKnown ? known : undefined);
  });
  return Promise.all(rows);
}

async function latestOf(name) {
  const patience = ['--fetch-retries=1', '--fetch-retry-mintimeout=1000'];
  // Under "npm test --silent", npm inherits a log level without errors.
  const args = ['view', name, 'version', '--loglevel=error', ...patience];
  const answer = await npm(args);
  const version = answer.stdout.trim();
  if (answer.status === 0 && isVersion(version)) return { version };
  const reason = wordsOf(answer) ?? wordsOfNpm(answer.stderr, answer.status);
  const problem = `npm does not say which ${name} is the latest: ${reason}. Check that npm reaches its registry, and run it again.`;
  return { problem };
}

async function npm(args) {
  try {
    return await runProgram('npm', args, {
      cwd: root,
      limitMs: 2 * minuteMs,
      signal
    });
  } catch (error) {
    return { status: null, stdout: '', stderr: error.message };
  }
}

/** Why the program was stopped; undefined when it was not. */
function wordsOf({ stopped }) {
  if (stopped === 'late') return 'it took too long';
  return stopped && `stopped by ${signal.reason}`;
}

async function build() {
  const { status } = await runProgram(process.execPath, ['scripts/build.mjs'], {
    cwd: root,
    limitMs: 5 * minuteMs,
    signal,
    shown: true
  });
  if (status !== 0 && !signal.aborted)
    throw new Error('The build failed. Mend that first.');
}

function rowOf(name, tried, result, failures = []) {
  const { version: pinned } = versions[name];
  return { name, pinned, tried, result, failures };
}

/** Does not throw for a broken release, so that the next ones are tried. */
async function tryOut({ name, tried }) {
  const row = (result, failures) => rowOf(name, tried, result, failures);
  const stopped = () => row(notTested, [`stopped by ${signal.reason}`]);
  if (signal.aborted) return stopped();
  const folder = join(root, '.cache', 'engines-latest', name);
  console.log(`\n${name} ${tried}: installing`);
  let programs;
  try {
    rmSync(folder, { recursive: true, force: true });
    programs = installEngines(folder, { [versions[name].package]: tried });
  } catch (error) {
    return row(notInstalled, [wordsOfNpm(error.message, error.status)]);
  }
  console.log(`${name} ${tried}: testing`);
  try {
    const tests = await test(name, folder, programs);
    const failures = [...(await doctor(name, programs)), ...tests.failures];
    if (signal.aborted) return stopped();
    if (failures.length > 0) return row(broken, failures);
    return row(`${works}, ${tests.passed} tests`);
  } catch (error) {
    return row(broken, [firstLine(error.message)]);
  }
}

async function test(name, folder, programs) {
  const file = join(folder, 'results.json');
  const { status, stopped } = await runProgram(
    'npx',
    [
      ...['vitest', 'run', '--project', 'engines', '--reporter=default'],
      ...['--reporter=json', `--outputFile.json=${file}`],
      `test/engines/${name}.test.ts`
    ],
    {
      cwd: root,
      env: { ...process.env, TROUPE_TEST_CLIS: programs, TROUPE_CI: '1' },
      limitMs: testMinutes * minuteMs,
      signal,
      shown: true
    }
  );
  const results = resultsIn(file);
  const passed = results ? passedIn(results) : 0;
  const failures = results ? failuresIn(results) : [];
  if (stopped) failures.push(`its tests hung for ${testMinutes} min`);
  else if (failures.length === 0 && (passed === 0 || status !== 0))
    failures.push(`its tests did not run as they should (exit code ${status})`);
  return { passed, failures };
}

function resultsIn(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}

/** The objections of `troupe doctor`, except to an unverified version. */
async function doctor(name, programs) {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'troupe-releases-')));
  const args = ['dist/troupe.cjs', 'doctor', '--json', '--engines', name];
  const PATH = [programs, process.env.PATH].join(delimiter);
  const answer = await runProgram(
    process.execPath,
    [...args, '--workspace', home],
    { cwd: root, env: { PATH, HOME: home }, limitMs: minuteMs, signal }
  );
  rmSync(home, { recursive: true, force: true });
  return objectionsOf(answer);
}
