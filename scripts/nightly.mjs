#!/usr/bin/env node
/**
 * Runs the tests and benches that take too long for every change, with real
 * processes that are killed: `npm run test:nightly`, about two hours. Builds
 * first. A failure prints its seed: TROUPE_SEED=<seed> repeats its choices.
 *
 *     --rounds 1000   rounds of killed workers; default 200
 *     --minutes 60    minutes of the chaos test; default 20
 *     --messages 10   fuzzed messages to servers; default 100,000
 *     --defects 10    planted in the code one by one, instead of 100; 0: none
 *     --soak 10       minutes under a steady load; default 60
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

/** Too slow or too noisy for every change; `peers` needs the npm registry. */
const ratios = ['load', 'flat', 'iac-view', 'council', 'orchestrator', 'peers'];
const root = join(import.meta.dirname, '..');
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '200' },
    minutes: { type: 'string', default: '20' },
    messages: { type: 'string', default: '100000' },
    defects: { type: 'string', default: '100' },
    soak: { type: 'string', default: '60' }
  }
});
const environment = {
  TROUPE_CHAOS_ROUNDS: values.rounds,
  TROUPE_CHAOS_SECONDS: String(60 * Number(values.minutes)),
  TROUPE_EVERYDAY_AGENTS: '1000',
  TROUPE_FUZZ_MESSAGES: values.messages,
  TROUPE_KILL_ROUNDS: '500',
  TROUPE_RACES: '1000',
  TROUPE_CLEAN_ROUNDS: '100'
};

run('scripts/build.mjs');
run(
  ...['node_modules/vitest/vitest.mjs', 'run'],
  ...['--project', 'e2e*', '--project', 'chaos'],
  ...['test/e2e/workers/orchestrator-chaos', 'test/e2e/faults/server-killed'],
  ...['test/chaos/chaos', 'test/chaos/everyday/everyday'],
  'test/e2e/faults/fuzz-messages',
  ...['test/e2e/audit/clean-killed', 'test/e2e/faults/fault-']
);
run(
  ...['bench/soak.mjs', '--check', '--minutes', values.soak],
  ...['--period', '4', '--warm-up', '220']
);
if (Number(values.defects) > 0)
  run(
    ...['scripts/mutate.mjs', '--count', values.defects],
    ...['--seed', seedOfToday(), '--check', '60']
  );
for (const name of ratios) measure(join('bench', `${name}.mjs`));

/** Other defects each night, and the same ones for the date of a failure. */
function seedOfToday() {
  return new Date().toISOString().slice(0, 10).replaceAll('-', '');
}

/** Fails after two failed runs: a busy machine may cause one. */
function measure(bench) {
  if (tried(bench, '--check') !== 0) run(bench, '--check');
}

function run(program, ...args) {
  const status = tried(program, ...args);
  if (status !== 0) process.exit(status ?? 1);
}

function tried(program, ...args) {
  return spawnSync(process.execPath, [join(root, program), ...args], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...environment }
  }).status;
}
