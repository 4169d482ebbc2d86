#!/usr/bin/env node
/**
 * Runs test/chaos/chaos.test.ts, which injects many faults at once and then
 * checks the promises of troupe, and reports its figures. Builds nothing.
 * Exits with 1 when a promise was broken.
 *
 *     --seconds 180   the duration
 *     --seed N        repeats the choices of an earlier run
 *     --json          prints JSON for run.mjs
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { fact, tableOf } from './statistics.mjs';

/** Defects that the first runs have found, for the notes of the report. */
const found = [
  'an end never told, as its line in the journal was torn on a full disk',
  'chains broken and spawns taken back where a head could not be noted',
  'cancels refused, and "internal" answered, on a full disk',
  'a silent agent without watchdog that went on to its time limit',
  'drafts and marks of others removed by a server with a wrong clock',
  'an entry of IAC.md that no reader of its rules could parse',
  'a pane left for a minute where nobody could write it down',
  '"bug:" on stderr for a client that left',
  '169 MB in a server whose agents put out much'
];

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '180' },
    seed: { type: 'string' },
    json: { type: 'boolean', default: false },
    troupe: { type: 'string' }
  }
});
const root = join(import.meta.dirname, '..');
const directory = mkdtempSync(join(tmpdir(), 'troupe-chaos-'));
const file = join(directory, 'report.json');
const { stdout, stderr } = spawnSync(
  process.execPath,
  [
    join(root, 'node_modules', 'vitest', 'vitest.mjs'),
    ...['run', '--project', 'chaos', 'test/chaos/chaos.test.ts']
  ],
  {
    cwd: root,
    encoding: 'utf8',
    env: {
      ...process.env,
      TROUPE_CHAOS_SECONDS: values.seconds,
      TROUPE_CHAOS_REPORT: file,
      ...(values.seed ? { TROUPE_SEED: values.seed } : {})
    }
  }
);
if (!existsSync(file)) throw new Error(`${stdout}\n${stderr}`);
const { report, faults, kept } = JSON.parse(readFileSync(file, 'utf8'));
rmSync(directory, { recursive: true });
const result = reportOf(report, faults);
console.log(values.json ? JSON.stringify([result]) : tableOf(result));
if (kept) {
  console.error(`${faults.join('\n')}\nkept: ${kept}`);
  process.exitCode = 1;
}

function reportOf({ done = {}, ...rest }, broken) {
  const { recoveryMs = {}, ends = {}, behaviours = {} } = rest;
  const list = (counts) =>
    Object.entries(counts)
      .map(([name, count]) => `${name} ${count}`)
      .join(', ');
  const isFault = (name) => /^(kill|stop|full|hang|vanish|SIGTERM)/.test(name);
  const parts = Object.entries(done);
  const faults = parts.filter(([name]) => isFault(name));
  const sum = faults.reduce((total, [, count]) => total + count, 0);
  return {
    title: 'Chaos',
    rows: [
      fact('promises broken', broken.length === 0, String(broken.length)),
      fact('agents', undefined, String(rest.agents)),
      fact('servers, three at a time', undefined, String(rest.servers)),
      fact(
        'of these with a wrong clock',
        undefined,
        String(done['server with a wrong clock'] ?? 0)
      ),
      fact('faults', undefined, String(sum)),
      fact(
        'an end is known after its cause, p50 and longest',
        undefined,
        `${recoveryMs.p50} ms, ${recoveryMs.most} ms (${recoveryMs.count})`
      ),
      fact('most memory of a server', undefined, `${rest.megabytes} MB`),
      fact(
        'file descriptors, at the end more than at the start',
        undefined,
        String(rest.descriptorsGained)
      )
    ],
    notes: [
      `Seed ${rest.seed}, ${rest.seconds} s, on a machine that others use, too.`,
      `Faults: ${list(Object.fromEntries(faults))}.`,
      `Ends: ${list(ends)}.`,
      `Agents: ${list(behaviours)}.`,
      `Found by its first runs, and mended: ${found.join('; ')}.`,
      `Besides: ${list(Object.fromEntries(parts.filter(([name]) => !isFault(name))))}.`
    ]
  };
}
