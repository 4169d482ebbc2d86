#!/usr/bin/env node
/**
 * What takes too long for every change, with real processes that are killed:
 * `npm run test:nightly`, about a quarter of an hour. It builds first. A
 * failure prints its seed: TROUPE_SEED=<seed> plays the same moments again.
 *
 *     --rounds 1000   workers under fire, instead of 200
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const root = join(import.meta.dirname, '..');
const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '200' } }
});
const environment = {
  TROUPE_CHAOS_ROUNDS: values.rounds,
  TROUPE_KILL_ROUNDS: '500'
};

run('scripts/build.mjs');
run(
  ...['node_modules/vitest/vitest.mjs', 'run', '--project', 'e2e'],
  ...['src/testing/e2e/orchestrator-chaos', 'src/testing/e2e/server-killed']
);

function run(program, ...args) {
  const { status } = spawnSync(
    process.execPath,
    [join(root, program), ...args],
    { cwd: root, stdio: 'inherit', env: { ...process.env, ...environment } }
  );
  if (status !== 0) process.exit(status ?? 1);
}
