import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs, { readdirSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { needing } from '../../../test/kit/workspaces/needs.ts';
import { hasProc } from './process-table.ts';
import { forksSoFar, hasLeftNothing } from './young-processes.ts';

const testProc = needing('/proc', hasProc());

const directory = join(tmpdir(), 'agent');

/** Runs a shell as a supervisor does. */
function start(script: string) {
  const forksBefore = forksSoFar() ?? 0;
  const child: ChildProcess = spawn('/bin/sh', ['-c', script], {
    detached: true,
    stdio: 'ignore',
    env: { PATH: '/usr/bin:/bin', TROUPE_AGENT_DIR: directory }
  });
  return { child, forksBefore };
}

async function ended(script: string) {
  const { child, forksBefore } = start(script);
  await once(child, 'exit');
  return { pid: child.pid ?? 0, directory, forksBefore };
}

testProc('a program that ends with its processes leaves nothing', async () => {
  const agent = await ended('sleep 0.01 & wait');
  expect(await hasLeftNothing(agent)).toBe(true);
});

testProc('a process in the session of the agent is found', async () => {
  const agent = await ended('unset TROUPE_AGENT_DIR; sleep 60 &');
  expect(await hasLeftNothing(agent)).toBe(false);
});

testProc('a process in a session of its own is found', async () => {
  const agent = await ended('setsid sleep 60 & sleep 0.1');
  expect(await hasLeftNothing(agent)).toBe(false);
});

testProc('the processes of another agent do not count', async () => {
  const agent = await ended('setsid sleep 60 & sleep 0.1');
  const other = { ...agent, directory: `${directory}-2` };
  expect(await hasLeftNothing(other)).toBe(true);
});

testProc('nothing is certain once numbers may have been reused', async () => {
  const agent = await ended('true');
  const longAgo = { ...agent, forksBefore: agent.forksBefore - 10_000_000 };
  expect(await hasLeftNothing(longAgo)).toBe(false);
});

testProc('nothing is certain while the number is in use', async () => {
  const agent = await ended('true');
  expect(readdirSync('/proc')).not.toContain(String(agent.pid));
  const inUse = { ...agent, pid: process.ppid };
  expect(await hasLeftNothing(inUse)).toBe(false);
});

test('agents that end at once are looked for together', async () => {
  const agents = await Promise.all([ended('true'), ended('true')]);
  const found = await Promise.all(agents.map(hasLeftNothing));
  expect(found).toEqual(agents.map(() => hasProc()));
});

testProc('a process is read once, however many agents end', async () => {
  const agents = [await ended('true'), await ended('true')];
  const { child } = start('exec sleep 60');
  onTestFinished(() => void child.kill());
  const reads = vi.spyOn(fs, 'readFileSync');
  syncBuiltinESMExports();
  onTestFinished(() => {
    reads.mockRestore();
    syncBuiltinESMExports();
  });
  for (const agent of agents) await hasLeftNothing(agent);
  const paths = reads.mock.calls.map(([path]) => String(path));
  const ofChild = paths.filter((path) =>
    path.startsWith(`/proc/${child.pid}/`)
  );
  expect(ofChild).toHaveLength(2);
});
