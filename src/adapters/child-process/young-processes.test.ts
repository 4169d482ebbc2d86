import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { stopClock } from '../../../test/kit/agents/process-stage.ts';
import { atNextRead, watchReads } from '../../../test/kit/judges/next-read.ts';
import { until } from '../../../test/kit/judges/until.ts';
import { needing } from '../../../test/kit/workspaces/needs.ts';
import {
  hasProc,
  isStillThere,
  processEntry,
  processTable
} from './process-table.ts';
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

/**
 * Whether an agent has left nothing, once that is certain: a process of another
 * test may have no environment yet.
 */
function leavesNothing(agent: Parameters<typeof hasLeftNothing>[0]) {
  const look = () => hasLeftNothing(agent);
  return hasProc() ? until('certainty', look) : look();
}

testProc('a program that ends with its processes leaves nothing', async () => {
  const agent = await ended('sleep 0.01 & wait');
  expect(await leavesNothing(agent)).toBe(true);
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
  expect(await leavesNothing(other)).toBe(true);
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
  const found = await Promise.all(agents.map(leavesNothing));
  expect(found).toEqual(agents.map(() => hasProc()));
});

/** Leaves one process behind, in a session of its own, and names it. */
async function leaving(script: string) {
  const file = join(mkdtempSync(join(tmpdir(), 'left-')), 'pid');
  const agent = await ended(
    `setsid sh -c 'echo $$ >"$0"; ${script}' '${file}' & until read -r pid <'${file}'; do sleep 0.01; done`
  );
  const left = Number(readFileSync(file, 'utf8'));
  return { agent, other: { ...agent, directory: `${directory}-2` }, left };
}

const withMark = 'exec sleep 60';
const bare = 'exec env -i sleep 60';

/** Waits until a process of `leaving` is the program that it is to be. */
async function isSleeping(pid: number): Promise<void> {
  await until('its program', () => {
    const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    return line === 'sleep\x0060\0';
  });
}

testProc('a process whose parent ends during a look is found', async () => {
  const pipe = join(mkdtempSync(join(tmpdir(), 'left-')), 'pipe');
  execFileSync('mkfifo', [pipe]);
  const { agent, left } = await leaving(
    `read -r line <"${pipe}"; sleep 60 & exit`
  );
  const parent = processEntry(left);
  atNextRead(`/proc/${left}/stat`, (read) => {
    writeFileSync(pipe, '\n');
    while (parent && isStillThere(parent));
    return read();
  });
  expect(parent).toBeDefined();
  expect(await hasLeftNothing(agent)).toBe(false);
});

const unread = {
  'is during its execve': () => '',
  'may not be read for a moment': () => {
    throw Object.assign(new Error('EACCES'), { code: 'EACCES' });
  }
};

for (const [title, answer] of Object.entries(unread))
  testProc(`a process that ${title} is no stranger for ever`, async () => {
    const { agent, other, left } = await leaving(withMark);
    await isSleeping(left);
    atNextRead(`/proc/${left}/environ`, answer);
    expect(await leavesNothing(other)).toBe(true);
    expect(await hasLeftNothing(agent)).toBe(false);
  });

testProc('a process during its execve is found', async () => {
  const { agent, left } = await leaving(withMark);
  await isSleeping(left);
  atNextRead(`/proc/${left}/environ`, () => '');
  expect(await hasLeftNothing(agent)).toBe(false);
});

testProc(
  'nothing is certain while a new process has no environment',
  async () => {
    const pass = stopClock();
    const { other, left } = await leaving(bare);
    await isSleeping(left);
    expect(await hasLeftNothing(other)).toBe(false);
    pass(1999);
    expect(await hasLeftNothing(other)).toBe(false);
    pass(1);
    expect(await leavesNothing(other)).toBe(true);
    const reads = watchReads();
    expect(await leavesNothing(other)).toBe(true);
    expect(readsOf(left, reads)).toEqual([]);
  }
);

testProc('a process that its parent has not reaped is none', async () => {
  const agent = await ended('true');
  const { child } = start('unset TROUPE_AGENT_DIR; true & exec sleep 60');
  onTestFinished(() => void child.kill());
  await until('a zombie', () =>
    processTable().some(({ parent, zombie }) => parent === child.pid && zombie)
  );
  await isSleeping(child.pid ?? 0);
  stopClock();
  expect(await leavesNothing(agent)).toBe(true);
});

testProc('a process is read once, however many agents end', async () => {
  const agents = [await ended('true'), await ended('true')];
  const { child } = start('exec sleep 60');
  onTestFinished(() => void child.kill());
  await isSleeping(child.pid ?? 0);
  const reads = watchReads();
  for (const agent of agents) await hasLeftNothing(agent);
  expect(readsOf(child.pid ?? 0, reads)).toHaveLength(2);
});

function readsOf(pid: number, reads: string[]): string[] {
  return reads.filter((path) => path.startsWith(`/proc/${pid}/`));
}
