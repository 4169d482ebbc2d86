/** Selects the engines of scripts/demo.mjs. */
import { spawnSync } from 'node:child_process';
import { listed, tell } from './demo-output.mjs';

/**
 * Runs `troupe doctor`, which calls no model, and prints its result.
 * @returns names of the engines that are ready and see files
 */
export function chooseEngines({ troupe, workspace, environment }) {
  const args = [troupe, 'doctor', '--json', '--workspace', workspace];
  const { stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: workspace,
    env: environment,
    encoding: 'utf8',
    timeout: 30_000
  });
  if (!stdout?.startsWith('{'))
    throw new Error(`troupe doctor gave no answer. ${stderr ?? ''}`);
  const engines = JSON.parse(stdout).engines.filter(
    ({ name }) => name !== 'rehearsal'
  );
  const used = engines.filter(isUsed);
  for (const engine of used) tell(`${engine.name}: ${readiness(engine)}`);
  const reasons = new Map();
  for (const engine of engines.filter((one) => !isUsed(one))) {
    const reason = whyNot(engine);
    reasons.set(reason, [...(reasons.get(reason) ?? []), engine.name]);
  }
  for (const [reason, names] of reasons) listed(`${reason}: `, names, ', ');
  return used.map(({ name }) => name);
}

/** The question is about a file, and an API has no access to files. */
function isUsed({ ready, kind }) {
  return ready && kind === 'cli';
}

function readiness({ login, version, keys }) {
  const release = version?.replace(/\.$/, '') ?? 'of an unknown version';
  if (login === 'logged in') return `${release}, logged in`;
  const [key] = keys;
  return `${release}, ${key ? `with ${key.name}` : 'perhaps logged in'}`;
}

function whyNot({ kind, path, login, ready, tested }) {
  if (kind === 'api') return ready ? 'sees no files' : 'no key';
  if (path === null) return 'not installed';
  if (tested?.gone?.length) return `installed, but ${tested.says}`;
  if (login === 'not logged in') return 'not logged in';
  return 'installed, but does not answer';
}
