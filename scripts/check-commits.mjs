#!/usr/bin/env node
/**
 * Fails when the message of a commit is not conventional. Skips merges.
 *
 *     node scripts/check-commits.mjs BASE    checks the commits after BASE
 *
 * If this clone does not have BASE, as after a forced push or at the first push
 * of a branch, checks only the newest commit.
 */
import { execFileSync } from 'node:child_process';
import { faultsOf } from './commit-message.mjs';

const [base = ''] = process.argv.slice(2);
const range = isCommit(base) ? [`${base}..HEAD`] : ['-1', 'HEAD'];
const commits = git('log', '-z', '--no-merges', '--format=%h %B', ...range)
  .split('\0')
  .filter(Boolean);

for (const commit of commits) {
  const [hash] = commit.split(' ', 1);
  const message = commit.slice(hash.length + 1);
  for (const fault of faultsOf(message)) {
    console.error(
      `${hash} ${JSON.stringify(message.split('\n', 1)[0])}: ${fault}`
    );
    process.exitCode = 1;
  }
}
console.log(`Checked ${commits.length} commit messages.`);

function isCommit(name) {
  if (!/^[0-9a-f]{7,64}$/.test(name) || /^0+$/.test(name)) return false;
  try {
    git('cat-file', '-e', `${name}^{commit}`);
    return true;
  } catch {
    return false;
  }
}

function git(...args) {
  return execFileSync('git', args, {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    stdio: ['ignore', 'pipe', 'pipe']
  });
}
