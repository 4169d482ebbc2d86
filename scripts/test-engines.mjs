#!/usr/bin/env node
/**
 * Tests against the real CLIs: `npm run test:engines`.
 *
 * Installs the pinned versions into .cache/engines once, the tools of the
 * project "conformance" into .cache/judges and the tools of package tests into
 * .cache/packagers. Then runs the whole project "engines"; `npm test` runs its
 * quick part. TROUPE_TEST_CLIS names a folder that already has the programs.
 * They call our model server on loopback, so tests need no account and no
 * network.
 *
 *     --install          install, and do nothing else
 *     --record [FILTER]  record plugins/fixtures/ again, and do nothing else
 *     --table            after a run without failures, write its table into
 *                        docs/reference/engines.md
 *
 * Other arguments go to vitest.
 */
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync
} from 'node:fs';
import { delimiter, join } from 'node:path';
import { judges, packagers, peers, versions } from './engine-versions.mjs';
import { writeTable } from './engines-table.mjs';
import { installEngines } from './install-engines.mjs';

const root = join(import.meta.dirname, '..');
const folder = join(root, '.cache', 'engines');
const programs =
  process.env.TROUPE_TEST_CLIS ?? join(folder, 'node_modules', '.bin');
const judgesFolder = join(root, '.cache', 'judges');
const packagersFolder = join(root, '.cache', 'packagers');
// npm refuses a package for another platform.
const here = `-${process.platform}-${process.arch}`;
const own = Object.values(peers).filter((one) => one.package.endsWith(here));
const dependencies = dependenciesOf([...Object.values(versions), ...own]);
const [first, ...rest] = process.argv.slice(2);
const most = { '--install': 0, '--record': 1, '--table': 0 }[first];
if (rest.length > (most ?? Number.POSITIVE_INFINITY))
  fail(`${first} takes ${most === 0 ? 'no argument' : 'one filter at most'}.`);

if (!process.env.TROUPE_TEST_CLIS) install(folder, dependencies);
// The pinned Node packages are for one platform only.
if (judges.node.package.endsWith(here)) {
  const plain = ['--ignore-scripts'];
  install(judgesFolder, dependenciesOf(Object.values(judges)), plain);
  install(packagersFolder, dependenciesOf(Object.values(packagers)), plain);
}
if (first === '--record') record(rest);
else if (first === '--table') test([], writeTable);
else if (first !== '--install') test(process.argv.slice(2));

function record(filter) {
  const PATH = [programs, process.env.PATH].join(delimiter);
  run(process.execPath, ['scripts/record-fixtures.mjs', ...filter], root, {
    PATH
  });
}

function test(more, onSuccess) {
  run(process.execPath, ['scripts/build.mjs'], root);
  const results = join(folder, 'results.json');
  const runs = join(folder, 'runs.jsonl');
  mkdirSync(folder, { recursive: true });
  rmSync(runs, { force: true });
  const reporters = ['default', 'json'].map((name) => `--reporter=${name}`);
  run(
    'npx',
    [
      ...['vitest', 'run', '--project', 'engines', ...reporters],
      ...[`--outputFile.json=${results}`, ...more]
    ],
    root,
    {
      TROUPE_TEST_ENGINES: 'all',
      TROUPE_ENGINE_RUNS: runs,
      // No test may be skipped, because the programs were just installed.
      TROUPE_CI: '1'
    }
  );
  onSuccess?.(results, runs);
}

function dependenciesOf(packages) {
  return Object.fromEntries(packages.map((one) => [one.package, one.version]));
}

/** Installs once. The note comes last, so an interrupted run is repeated. */
function install(folder, dependencies, flags) {
  const note = join(folder, 'installed.json');
  const wanted = JSON.stringify(dependencies);
  if (existsSync(note) && readFileSync(note, 'utf8') === wanted) return;
  rmSync(note, { force: true });
  installEngines(folder, dependencies, flags);
  writeFileSync(note, wanted);
}

function fail(message) {
  process.stderr.write(`test-engines: ${message}\n`);
  process.exit(2);
}

function run(command, args, cwd, env = {}) {
  const { status, error } = spawnSync(command, args, {
    cwd,
    stdio: 'inherit',
    env: { ...process.env, ...env }
  });
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
}
