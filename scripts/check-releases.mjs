#!/usr/bin/env node
/**
 * Does troupe work with the newest releases? `npm run check:releases`.
 *
 * Asks npm for the latest version of each agent's program. Each that is newer
 * than the one we test is installed into .cache/engines-latest/<name>, and
 * goes through its tests and `troupe doctor`, against a model of ours on
 * loopback. Exits with 1 when one is broken, with 2 when npm did not answer.
 *
 *     --package @openai/codex@0.168.0   tries this version, and nothing else
 *     --report FILE                     writes the table into a file, too
 */
import { spawnSync } from 'node:child_process';
import {
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { parseArgs } from 'node:util';
import { versions } from './engine-versions.mjs';
import { installEngines } from './install-engines.mjs';
import {
  failuresIn,
  isNewer,
  passedIn,
  reportOf,
  wordsOfNpm
} from './releases-report.mjs';

const root = join(import.meta.dirname, '..');
const works = 'works';
const broken = 'broken';
const notInstalled = 'not installed';

try {
  process.exitCode = check(optionsOf(process.argv.slice(2)));
} catch (error) {
  console.error(`check-releases: ${error.message}`);
  process.exitCode = 2;
}

function optionsOf(args) {
  const options = { package: { type: 'string' }, report: { type: 'string' } };
  return parseArgs({ args, options }).values;
}

function check({ package: asked, report }) {
  const wanted = asked ? [askedFor(asked)] : latest();
  if (wanted.some(({ skip }) => !skip)) build();
  const rows = wanted.map((one) => (one.skip ? rowOf(one) : tryOut(one)));
  const table = reportOf(rows);
  console.log(`\n${table}`);
  if (report) writeFileSync(report, `${table}\n`);
  const results = rows.map(({ result }) => result);
  if (results.includes(broken)) return 1;
  return results.includes(notInstalled) ? 2 : 0;
}

/** `@openai/codex@0.168.0` → that version of that engine's program. */
function askedFor(text) {
  const at = text.lastIndexOf('@');
  const [name, version] = [text.slice(0, at), text.slice(at + 1)];
  const known = Object.entries(versions);
  const found = known.find(([, one]) => one.package === name);
  if (at > 0 && found) return { name: found[0], version };
  const names = known.map(([, one]) => one.package).join(', ');
  throw new Error(
    `"${text}" is none of ours. Name one with its version, as in ${names.split(', ')[0]}@1.2.3; there are ${names}.`
  );
}

/** What npm has now. */
function latest() {
  return Object.entries(versions).map(([name, one]) => {
    const version = latestOf(one.package);
    return { name, version, skip: !isNewer(version, one.version) };
  });
}

function latestOf(name) {
  const patience = ['--fetch-retries=1', '--fetch-retry-mintimeout=1000'];
  // Silent npm, as "npm test --silent" has it, does not say what is wrong.
  const args = ['view', name, 'version', '--loglevel=error', ...patience];
  const { status, stdout, stderr, error } = npm(args);
  if (status === 0 && stdout.trim() !== '') return stdout.trim();
  const said = error?.message ?? wordsOfNpm(stderr);
  throw new Error(
    `npm does not say which ${name} is the latest: ${said}. Check that npm reaches its registry, and run it again.`
  );
}

function npm(args) {
  return spawnSync('npm', args, { cwd: root, encoding: 'utf8' });
}

function build() {
  const { status } = spawnSync(process.execPath, ['scripts/build.mjs'], {
    cwd: root,
    stdio: 'inherit'
  });
  if (status !== 0) throw new Error('The build failed. Mend that first.');
}

function rowOf({ name, version }, result = 'not newer', failures = []) {
  const { version: pinned } = versions[name];
  return { name, pinned, tried: version, result, failures };
}

function tryOut({ name, version }) {
  const folder = join(root, '.cache', 'engines-latest', name);
  console.log(`\n${name} ${version}: installing`);
  rmSync(folder, { recursive: true, force: true });
  let programs;
  try {
    const dependencies = { [versions[name].package]: version };
    programs = installEngines(folder, dependencies);
  } catch (error) {
    const failures = [wordsOfNpm(error.message)];
    return rowOf({ name, version }, notInstalled, failures);
  }
  console.log(`${name} ${version}: testing`);
  const { failures: failedTests, passed } = test(name, folder, programs);
  const failures = [...doctor(name, programs), ...failedTests];
  const result = failures.length > 0 ? broken : `${works}, ${passed} tests`;
  return rowOf({ name, version }, result, failures);
}

function test(name, folder, programs) {
  const file = join(folder, 'results.json');
  const { status } = spawnSync(
    'npx',
    [
      ...['vitest', 'run', '--project', 'engines', '--reporter=default'],
      ...['--reporter=json', `--outputFile.json=${file}`],
      `src/testing/engines/${name}.test.ts`
    ],
    {
      cwd: root,
      stdio: 'inherit',
      env: { ...process.env, TROUPE_TEST_CLIS: programs, TROUPE_CI: '1' }
    }
  );
  const results = resultsIn(file);
  const passed = results ? passedIn(results) : 0;
  const failures = results ? failuresIn(results) : [];
  if (failures.length === 0 && (passed === 0 || status !== 0))
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

/** What doctor has against it, but that it is another version. */
function doctor(name, programs) {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'troupe-releases-')));
  const args = ['dist/troupe.cjs', 'doctor', '--json', '--engines', name];
  const PATH = [programs, process.env.PATH].join(delimiter);
  const { stdout } = spawnSync(
    process.execPath,
    [...args, '--workspace', home],
    { cwd: root, encoding: 'utf8', env: { PATH, HOME: home } }
  );
  rmSync(home, { recursive: true, force: true });
  const [engine] = JSON.parse(stdout).engines;
  const { says = 'no answer', gone } = engine.tested ?? {};
  return gone?.length === 0 ? [] : [`troupe doctor: ${says}`];
}
