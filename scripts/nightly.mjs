#!/usr/bin/env node
/**
 * What takes too long for every change, with real processes that are killed:
 * `npm run test:nightly`, about two hours. It builds first. A
 * failure prints its seed: TROUPE_SEED=<seed> plays the same moments again.
 *
 *     --rounds 1000   workers under fire, instead of 200
 *     --minutes 60    of everything at once, instead of 20
 *     --messages 10   of any kind sent to servers, instead of 100,000
 *     --soak 10       minutes under a steady load, instead of 60
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

/** Too long or too restless for every change; peers need the npm registry. */
const ratios = ['load', 'flat', 'iac-view', 'council', 'orchestrator', 'peers'];
const root = join(import.meta.dirname, '..');
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '200' },
    minutes: { type: 'string', default: '20' },
    messages: { type: 'string', default: '100000' },
    soak: { type: 'string', default: '60' }
  }
});
const environment = {
  TROUPE_CHAOS_ROUNDS: values.rounds,
  TROUPE_CHAOS_SECONDS: String(60 * Number(values.minutes)),
  TROUPE_FUZZ_MESSAGES: values.messages,
  TROUPE_KILL_ROUNDS: '500',
  TROUPE_RACES: '1000',
  TROUPE_CLEAN_ROUNDS: '100'
};

run('scripts/build.mjs');
run(
  ...['node_modules/vitest/vitest.mjs', 'run'],
  ...['--project', 'e2e', '--project', 'chaos'],
  ...['src/testing/e2e/orchestrator-chaos', 'src/testing/e2e/server-killed'],
  ...['src/testing/e2e/chaos', 'src/testing/e2e/fuzz-messages'],
  ...['src/testing/e2e/clean-killed', 'src/testing/e2e/fault-']
);
run(
  ...['bench/soak.mjs', '--check', '--minutes', values.soak],
  ...['--period', '4', '--warm-up', '220']
);
for (const name of ratios) measure(join('bench', `${name}.mjs`));

/** One noisy run is no news; two are. */
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
