/**
 * Runs all benches, one after the other, each in its own process, and writes
 * RESULTS.md. Fetches Node 24 from npm into a temporary folder once.
 *
 *     --only load.mjs,flat.mjs   only these; keeps the rest of RESULTS.md
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, release, tmpdir, totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { refusedIn, tableOf } from './statistics.mjs';
import { summaryOf, updatedSummary } from './summary.mjs';
import { updatedVerdict, verdictOn } from './verdict.mjs';

const { values } = parseArgs({
  options: {
    troupe: { type: 'string' },
    only: { type: 'string' },
    check: { type: 'boolean', default: false }
  }
});
const here = import.meta.dirname;
const troupe = values.troupe ?? join(here, '..', 'dist', 'troupe.cjs');
const loadBefore = loadavg()[0];

const results = join(here, 'RESULTS.md');
const all = [
  'start.mjs',
  'tokens.mjs',
  'spawn.mjs',
  'run-overhead.mjs',
  'evidence.mjs',
  'api.mjs',
  'output.mjs',
  'iac-view.mjs',
  'flat.mjs',
  'load.mjs',
  'page.mjs',
  'soak.mjs',
  'roles.mjs',
  'council.mjs',
  'orchestrator.mjs',
  'asks.mjs',
  'chaos.mjs',
  'peers.mjs',
  'install.mjs',
  'mutants.mjs'
];
/** Also measured on Node 24, with these flags. */
const onNode24 = { 'start.mjs': [], 'peers.mjs': ['--part', 'start'] };
/** Benches that were not measured on Node 24, which npm could not fetch. */
const withoutNode24 = [];
/** Benches that failed. */
const broken = [];
const wanted = values.only?.split(',') ?? all;
const reports = wanted.flatMap((name) => {
  const more = onNode24[name];
  const node24 = more ? fetchNode('24') : undefined;
  if (more && !node24) withoutNode24.push(name);
  const again = node24 ? bench(name, '--node', node24, ...more) : [];
  return [...bench(name), ...again];
});
writeFileSync(results, values.only ? updated() : resultsOf(reports));
console.log('wrote bench/RESULTS.md');
const refused = reports.flatMap(refusedIn);
if (broken.length > 0 || (values.check && refused.length > 0))
  process.exitCode = 1;

function bench(name, ...args) {
  console.log(`${name} ${args.join(' ')}`);
  // Pending writes would slow the next bench.
  spawnSync('sync');
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    [join(here, name), '--json', '--troupe', troupe, ...args],
    { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 }
  );
  const reports = status === 0 ? reportsIn(stdout) : undefined;
  if (reports === undefined) {
    console.error(`${name} failed: ${stderr}`);
    broken.push(name);
    return [];
  }
  for (const report of reports) console.log(tableOf(report));
  return reports;
}

/** Undefined for a text that is not a JSON list. */
function reportsIn(text) {
  try {
    const value = JSON.parse(text);
    return Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Another Node binary from npm; undefined when npm cannot fetch it. */
function fetchNode(major) {
  const folder = join(tmpdir(), `troupe-bench-node${major}`);
  const binary = join(folder, 'node_modules', 'node', 'bin', 'node');
  if (existsSync(binary)) return binary;
  mkdirSync(folder, { recursive: true });
  spawnSync('npm', ['install', '--prefix', folder, `node@${major}`]);
  return existsSync(binary) ? binary : undefined;
}

/** RESULTS.md with new texts for the sections that were measured. */
function updated() {
  const [head, ...sections] = readFileSync(results, 'utf8').split(/^(?=## )/m);
  for (const report of reports) {
    const when = `Measured later than the rest: ${moment()}, load before ${loadBefore.toFixed(2)}.`;
    const { notes = [] } = report;
    const text = tableOf({ ...report, notes: [when, ...notes] });
    const title = `## ${report.title}\n`;
    const place = sections.findIndex((section) => section.startsWith(title));
    if (place < 0) sections.push(text);
    else sections[place] = text;
  }
  const verdict = updatedVerdict(head, reports).join('\n');
  const start = head.search(/^(\| what|Every limit is kept|\*\*\d+ not kept)/m);
  const summary = updatedSummary(head.split('\n'), reports).join('\n');
  return `${head.slice(0, start)}${summary}\n\n${verdict}\n\n${sections.map((one) => one.trimEnd()).join('\n\n')}\n`;
}

function moment() {
  return `${new Date().toISOString().slice(0, 16).replace('T', ' ')} UTC, ${commit()}`;
}

function resultsOf(all) {
  return [
    '# Results of the benches',
    '',
    '> Written by `npm run bench`; changes made here are lost. How to read it: [docs/internals/benchmarks.md](../docs/internals/benchmarks.md).',
    '',
    `- Measured: ${moment()}`,
    `- Machine: ${machine()}`,
    `- Load before (1 min): ${loadBefore.toFixed(2)}. Others may have used the machine meanwhile: trust ratios and p10 before milliseconds.`,
    `- Node ${process.version} unless a title says otherwise.`,
    ...(broken.length > 0
      ? [`- Not measured, as they failed: ${broken.join(', ')}.`]
      : []),
    ...(withoutNode24.length > 0
      ? [
          `- Without Node 24, which npm could not fetch: ${withoutNode24.join(', ')}.`
        ]
      : []),
    '- floor: what the same work costs without troupe, measured in the same run, in turns. ratio: median by the median of the floor.',
    '',
    ...summaryOf(all),
    '',
    ...verdictOn(all),
    '',
    ...all.map(tableOf)
  ].join('\n');
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

/** The commit of the build, and whether src/ had later changes. */
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
