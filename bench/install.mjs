/**
 * Measures an installation: `npm ci --omit=dev` of the packed package in an
 * empty project, and the same for its peers, with a warm npm cache. Needs the
 * npm registry; without it, only reports that.
 */
import { spawnSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { peersHere, titleOf } from './peers/list.mjs';
import { fact, median, row } from './statistics.mjs';
import { runBench } from './support.mjs';

const root = join(import.meta.dirname, '..');
const title = 'Installed: `npm ci --omit=dev`, warm cache';
const mega = 1e6;
const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--json'];

await runBench(3, async ({ runs }) => {
  const base = mkdtempSync(join(tmpdir(), 'troupe-bench-install-'));
  try {
    const seen = [{ name: 'troupe' }, ...peersHere()].map((one, n) =>
      measure(one, join(base, String(n)), runs)
    );
    return reportOf(seen);
  } catch (error) {
    if (!/ENOTFOUND|ETIMEDOUT|EAI_AGAIN|ECONN/.test(error.message)) throw error;
    return { title, rows: [], notes: ['Not measured: npm has no network.'] };
  } finally {
    rmSync(base, { recursive: true, force: true });
  }
});

function measure(one, folder, runs) {
  mkdirSync(folder);
  const spec = one.version ? `${one.name}@${one.version}` : root;
  const packed = JSON.parse(
    npm(folder, 'pack', spec, '--ignore-scripts', '--json')
  );
  const [{ filename, size, unpackedSize }] = Object.values(packed);
  const wanted = one.version ?? `file:${filename}`;
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({ private: true, dependencies: { [one.name]: wanted } })
  );
  npm(folder, 'install', '--prefer-offline', ...quiet);
  const modules = join(folder, 'node_modules');
  const command = hasRightLock(folder) ? 'ci' : 'install';
  const taken = [];
  for (let run = 0; run < runs; run += 1) {
    rmSync(modules, { recursive: true, force: true });
    const from = performance.now();
    npm(folder, command, '--omit=dev', '--prefer-offline', ...quiet);
    taken.push((performance.now() - from) / 1000);
  }
  const lock = readFileSync(join(modules, '.package-lock.json'), 'utf8');
  const packages = Object.keys(JSON.parse(lock).packages).length;
  const bytes = sizeOf(modules);
  rmSync(folder, { recursive: true });
  return { ...one, command, taken, packages, bytes, size, unpackedSize };
}

/** For some packages, `npm ci` refuses the lock file that npm has just made. */
function hasRightLock(folder) {
  try {
    npm(folder, 'ci', '--omit=dev', '--dry-run', '--prefer-offline', ...quiet);
    return true;
  } catch {
    return false;
  }
}

function npm(cwd, ...args) {
  const { status, stdout, stderr, error } = spawnSync('npm', args, {
    cwd,
    encoding: 'utf8',
    maxBuffer: 64 * mega
  });
  if (error) throw error;
  if (status !== 0)
    throw new Error(`npm ${args[0]} in ${cwd}: ${stderr.slice(0, 2000)}`);
  return stdout;
}

/** The sum of the file sizes below a folder, in bytes; not the disk usage. */
function sizeOf(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => statSync(join(parentPath, name)).size)
    .reduce((sum, size) => sum + size, 0);
}

function reportOf(seen) {
  const megabytes = (bytes) => `${(bytes / mega).toFixed(1)} MB`;
  const describe = ({ packages, bytes, taken }) =>
    `${packages} packages, ${megabytes(bytes)}, ${median(taken).toFixed(1)} s`;
  const [ours, ...others] = seen;
  return {
    title,
    rows: [
      ...seen.map((one) => row(titleOf(one), one.taken, { unit: 's' })),
      ...seen.map((one) =>
        fact(
          `packages, size; tarball, unpacked: ${titleOf(one)}`,
          undefined,
          `${one.packages}, ${megabytes(one.bytes)}; ${megabytes(one.size)}, ${megabytes(one.unpackedSize)}`,
          one === ours
            ? {
                summary: '`npm ci --omit=dev`; tarball',
                floor: smallestOf(others, describe),
                reach: 'told'
              }
            : {}
        )
      )
    ],
    notes: [
      'The installed package itself counts as one. Sizes are of all files, in millions of bytes.',
      ...seen
        .filter(({ command }) => command !== 'ci')
        .map(
          (one) =>
            `${titleOf(one)}: by \`npm install\`, as \`npm ci\` refuses the lock file that npm makes for it.`
        )
    ]
  };
}

/** The peer with the fewest bytes. */
function smallestOf(others, describe) {
  const smallest = others.reduce((one, other) =>
    other.bytes < one.bytes ? other : one
  );
  return `${describe(smallest)} (${titleOf(smallest)})`;
}
