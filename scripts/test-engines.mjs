#!/usr/bin/env node
/**
 * Tests against the real CLIs: `npm run test:engines`.
 *
 * Installs the pinned versions into .cache/engines once, then runs the
 * project "engines". TROUPE_TEST_CLIS names a folder that has them already.
 * Their model is ours, on loopback: no account, no network. More arguments go
 * to vitest. `--install` installs and does nothing else.
 */
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';

const versions = {
  '@anthropic-ai/claude-code': '2.1.329',
  '@openai/codex': '0.169.0'
};

const root = join(import.meta.dirname, '..');
const folder = join(root, '.cache', 'engines');
const installed = join(folder, 'installed.json');
const wanted = JSON.stringify(versions);

if (!process.env.TROUPE_TEST_CLIS && !isInstalled()) install();
if (process.argv.includes('--install')) process.exit();
run(process.execPath, ['scripts/build.mjs'], root);
run(
  'npx',
  ['vitest', 'run', '--project', 'engines', ...process.argv.slice(2)],
  root
);

/** An installation that was cut short has no such note. */
function isInstalled() {
  return existsSync(installed) && readFileSync(installed, 'utf8') === wanted;
}

function install() {
  rmSync(installed, { force: true });
  mkdirSync(folder, { recursive: true });
  const manifest = { private: true, dependencies: versions };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
  // It warns of Claude Code's "engines"; the program is native and runs.
  run(
    'npm',
    ['install', '--no-audit', '--no-fund', '--loglevel=error'],
    folder
  );
  // Puts the native program in place where npm does not run scripts.
  const claude = join(folder, 'node_modules', '@anthropic-ai', 'claude-code');
  run(process.execPath, ['install.cjs'], claude);
  writeFileSync(installed, wanted);
}

function run(command, args, cwd) {
  const { status, error } = spawnSync(command, args, { cwd, stdio: 'inherit' });
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
}
