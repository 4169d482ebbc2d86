/**
 * All benches, one after the other, each in a process of its own; writes
 * RESULTS.md. Node 24 is fetched from npm into a temporary folder once.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, release, tmpdir, totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { tableOf } from './statistics.mjs';

const { values } = parseArgs({
  options: {
    troupe: { type: 'string' },
    check: { type: 'boolean', default: false }
  }
});
const here = import.meta.dirname;
const troupe = values.troupe ?? join(here, '..', 'dist', 'troupe.cjs');
const loadBefore = loadavg()[0];

const node24 = fetchNode('24');
const reports = [
  bench('start.mjs'),
  ...(node24 ? [bench('start.mjs', '--node', node24)] : []),
  ...[
    'spawn.mjs',
    'run-overhead.mjs',
    'evidence.mjs',
    'api.mjs',
    'output.mjs',
    'flat.mjs',
    'roles.mjs',
    'council.mjs',
    'orchestrator.mjs'
  ].map((name) => bench(name))
];
writeFileSync(join(here, 'RESULTS.md'), resultsOf(reports));
console.log('wrote bench/RESULTS.md');
const missed = reports.flatMap(missedIn);
if (values.check && missed.length > 0) process.exitCode = 1;

function bench(name, ...args) {
  console.log(`${name} ${args.join(' ')}`);
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    [join(here, name), '--json', '--troupe', troupe, ...args],
    { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 }
  );
  if (status !== 0) throw new Error(`${name} failed: ${stderr}`);
  const report = JSON.parse(stdout);
  console.log(tableOf(report));
  return report;
}

/** A second Node binary from npm, or undefined where that cannot be had. */
function fetchNode(major) {
  const folder = join(tmpdir(), `troupe-bench-node${major}`);
  const binary = join(folder, 'node_modules', 'node', 'bin', 'node');
  if (existsSync(binary)) return binary;
  mkdirSync(folder, { recursive: true });
  spawnSync('npm', ['install', '--prefix', folder, `node@${major}`]);
  return existsSync(binary) ? binary : undefined;
}

function resultsOf(all) {
  const missed = all.flatMap(missedIn);
  return [
    '# Results of the benches',
    '',
    '> Written by `npm run bench`; changes made here are lost.',
    '',
    `- Measured: ${new Date().toISOString().slice(0, 16).replace('T', ' ')} UTC, ${commit()}`,
    `- Machine: ${machine()}`,
    `- Load before (1 min): ${loadBefore.toFixed(2)}. Others may have used the machine meanwhile: trust ratios and p10 before milliseconds.`,
    `- Node ${process.version} unless a title says otherwise.`,
    '- floor: what the same work costs without troupe, measured in the same run, in turns. ratio: median by the median of the floor.',
    '',
    missed.length === 0
      ? 'Every limit is kept.'
      : `**${missed.length} not kept:**`,
    ...missed.map((line) => `- ${line}`),
    '',
    ...all.map(tableOf)
  ].join('\n');
}

function missedIn({ title, rows }) {
  return rows
    .filter(({ pass }) => pass === false)
    .map(({ name, text, median, ratio, limit, absolute, unit }) => {
      const measured = absolute
        ? `${median.toFixed(0)} ${unit}, limit ${limit} ${unit}`
        : `${ratio?.toFixed(2)}×, limit ${limit}×`;
      return `${title}: ${name}: ${text ?? measured}`;
    });
}

function machine() {
  const [cpu] = cpus();
  const gigabytes = Math.round(totalmem() / 2 ** 30);
  return `${cpus().length} × ${cpu?.model ?? 'unknown'}, ${gigabytes} GB, ${process.platform} ${release()} ${process.arch}, temporary files on ${fileSystem()}`;
}

function fileSystem() {
  const table = execFileSync('df', ['-T', tmpdir()], { encoding: 'utf8' });
  return table.split('\n')[1]?.split(/\s+/)[1] ?? 'unknown';
}

/** The commit of the build, and whether its tree had other changes. */
function commit() {
  const cwd = dirname(troupe);
  try {
    const git = (...args) =>
      execFileSync('git', args, { cwd, encoding: 'utf8', stdio: 'pipe' });
    const changed = git('status', '--porcelain', '--', '../src').trim() !== '';
    const { version } = JSON.parse(
      readFileSync(join(cwd, '..', 'package.json'), 'utf8')
    );
    const hash = git('rev-parse', '--short', 'HEAD').trim();
    return `troupe ${version} at ${hash}${changed ? ' with later changes' : ''}`;
  } catch {
    return 'commit unknown';
  }
}
