import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { superviseScript } from '../../../test/kit/agents/supervised-agent.ts';
import { until } from '../../../test/kit/judges/until.ts';
import { exitCodeOf, stopRequestOf } from '../../core/runs/run-files.ts';
import { processEntry } from './process-table.ts';

let base: string;
const { argv } = process;

beforeAll(() => {
  base = mkdtempSync(join(tmpdir(), 'troupe-reaper-'));
});

afterEach(() => {
  process.argv = argv;
});

afterAll(() => rmSync(base, { recursive: true, force: true }));

/** Runs the program in this process, as the watchdog of an agent starts it. */
async function reap(directory: string, why?: string): Promise<void> {
  process.argv = ['node', 'reaper', directory, ...(why ? [why] : [])];
  vi.resetModules();
  await import('./reaper.ts');
}

const start = (script: string) => superviseScript(base, '/bin/sh', script);
const isAlive = (pid: number) => processEntry(pid)?.zombie === false;

test.each(['timeout', 'disconnect'])(
  'an agent that is past its limit is ended, with the reason %s',
  async (why) => {
    const run = start('echo up; exec sleep 100');
    await run.claimed();
    await reap(run.directory, why);
    await run.ended;
    expect(stopRequestOf(run.directory)).toMatchObject({ why });
    expect(exitCodeOf(run.directory)).toBe(143);
  }
);

test('an unknown reason ends an agent without one', async () => {
  const run = start('exec sleep 100');
  await run.claimed();
  await reap(run.directory, 'whim');
  await run.ended;
  expect(stopRequestOf(run.directory)).toBeUndefined();
});

test('what an agent has left is ended only when it is asked for', async () => {
  const run = start('sleep 100 >/dev/null 2>&1 & echo $!');
  await run.ended;
  const child = Number(run.read('stdout'));
  await reap(run.directory, 'timeout');
  // A signal would be sent after the first of them.
  const { nextSnapshot } = await import('./agent-tree.ts');
  for (let count = 0; count < 3; count += 1) await nextSnapshot();
  expect(isAlive(child)).toBe(true);
  await reap(run.directory, 'left');
  await until('the end of its child', () => !isAlive(child) || undefined);
  expect(stopRequestOf(run.directory)).toBeUndefined();
});
