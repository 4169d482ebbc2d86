#!/usr/bin/env node
/**
 * `npm run mutate`: plants defects in production code, one at a time, and runs
 * the unit tests near the file. A defect that no test notices survives; one
 * whose tests fail without it too is not judged.
 *
 *     --count 100          defects, drawn at random
 *     --seed 1             draws the same ones again
 *     --in src/core,…      folders or files to plant them in
 *     --jobs 2             copies of the project, each with tests of its own
 *     --check 85           fails below this score, in percent
 *     --output file.json   adds the score and the survivors to the draws there
 *
 * The operators are a subset of Stryker's, which does not run here: its runner
 * for vitest uses worker threads, in which a test cannot change its user, and
 * it calls the JavaScript API that TypeScript 7 no longer has.
 */
import { spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { defectsIn } from './mutate/defects.mjs';
import { readDraws, writeDraw } from './mutate/draws.mjs';
import { testsNear } from './mutate/tests-near.mjs';
import { trackedFiles } from './mutate/tracked-files.mjs';

const root = join(import.meta.dirname, '..');
/** Tests that hang for this long have noticed the defect. */
const limitMs = 180_000;

/**
 * As root on Linux, tests of what ends processes run in a process namespace of
 * their own: with a defect, it may end all that it finds. The shell is the first
 * process there, which ends the others by its own end.
 */
const container = [
  ...'unshare --pid --fork --kill-child --mount-proc sh -c'.split(' '),
  ...['"$@"; exit $?', 'sh']
];
const hasNamespaces = process.platform === 'linux' && process.getuid() === 0;
const endsProcesses = /^src\/(adapters|core\/(runs\/end|orchestrator))\//;

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    in: { type: 'string', default: 'src,plugins' },
    jobs: { type: 'string', default: '2' },
    check: { type: 'string', default: '0' },
    output: { type: 'string' }
  }
});

// A file that cannot be added to is reported before the tests run.
if (values.output !== undefined) readDraws(values.output);
const tracked = trackedFiles(root);
const folders = values.in.split(',');
const sources = tracked.filter(
  (path) =>
    /^(src|plugins)\/.*\.ts$/.test(path) &&
    !/\.(test|d)\.ts$/.test(path) &&
    folders.some((folder) => path === folder || path.startsWith(`${folder}/`))
);
const defects = drawn(
  sources.flatMap((path) =>
    defectsIn(path, readFileSync(join(root, path), 'utf8'))
  ),
  Number(values.count),
  Number(values.seed)
);
/** Whether the tests near a file pass without a defect, by its path. */
const sound = new Map();
const found = { noticed: [], SURVIVED: [], 'not judged': [] };
const queue = [...defects];
await Promise.all(Array.from({ length: Number(values.jobs) }, workThrough));
const { noticed, SURVIVED: survivors, 'not judged': notJudged } = found;
const judged = noticed.length + survivors.length;
const score = judged === 0 ? 0 : (100 * noticed.length) / judged;
process.stdout.write(
  `\n${noticed.length} of ${judged} defects were noticed (${score.toFixed(1)} %), ${notJudged.length} were not judged, seed ${values.seed}\n`
);
if (values.output !== undefined) {
  const on = new Date().toISOString().slice(0, 10);
  const seed = Number(values.seed);
  const facts = { on, seed, planted: defects.length, judged };
  writeDraw(values.output, { ...facts, score, survivors, notJudged });
}
if (score < Number(values.check)) process.exitCode = 1;

/** One copy of the project, in which defects come and go. */
async function workThrough() {
  const copy = mkdtempSync(join(tmpdir(), 'troupe-mutate-'));
  try {
    for (const path of tracked) {
      mkdirSync(dirname(join(copy, path)), { recursive: true });
      cpSync(join(root, path), join(copy, path));
    }
    for (const path of ['node_modules', 'dist'])
      if (existsSync(join(root, path)))
        symlinkSync(join(root, path), join(copy, path));
    for (;;) {
      const defect = queue.shift();
      if (!defect) return;
      const verdict = await judge(copy, defect);
      found[verdict].push(described(defect));
      const done = Object.values(found).flat().length;
      const why =
        verdict === 'not judged'
          ? ': the tests near it fail without the defect'
          : '';
      process.stdout.write(
        `${done}/${defects.length} ${verdict.padEnd(10)} ${described(defect)}${why}\n`
      );
    }
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

async function judge(copy, { path, start, end, text }) {
  const tests = testsNear(root, tracked, path);
  if (tests.length === 0) return 'SURVIVED';
  const file = join(copy, path);
  const source = readFileSync(file, 'utf8');
  writeFileSync(file, source.slice(0, start) + text + source.slice(end));
  try {
    if (await passes(copy, path, tests)) return 'SURVIVED';
  } finally {
    writeFileSync(file, source);
  }
  if (!sound.has(path)) sound.set(path, await passes(copy, path, tests));
  return sound.get(path) ? 'noticed' : 'not judged';
}

function passes(copy, path, tests) {
  const isContained = hasNamespaces && endsProcesses.test(path);
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
  const options = ['--project', 'unit*', '--bail', '1', '--maxWorkers=1'];
  const run = [process.execPath, vitest, 'run', ...options, ...tests];
  const [program, ...args] = isContained ? [...container, ...run] : run;
  const child = spawn(program, args, {
    cwd: copy,
    stdio: 'ignore',
    detached: true
  });
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      process.kill(-child.pid, 'SIGKILL');
      resolve(false);
    }, limitMs);
    child.on('exit', (code) => {
      clearTimeout(timer);
      resolve(code === 0);
    });
  });
}

function described({ path, line, was, text }) {
  const short = (code) => code.replace(/\s+/g, ' ').slice(0, 70);
  return `${path}:${line} ${short(was)} -> ${short(text) || 'nothing'}`;
}

/** A sample without repetition, the same for the same seed. */
function drawn(all, count, seed) {
  let state = seed >>> 0;
  const random = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const rest = [...all];
  return Array.from({ length: Math.min(count, rest.length) }, () => {
    const [one] = rest.splice(Math.floor(random() * rest.length), 1);
    return one;
  });
}
