import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  processEntry,
  processTable,
  thisProcess
} from '../../../src/adapters/child-process/process-table.ts';
import { createProcesses } from '../../../src/adapters/child-process/processes.ts';
import type { ProcessIdentity } from '../../../src/core/processes/process-identity.ts';
import { FileLock } from '../../../src/core/state/locks/file-lock.ts';
import { until } from '../judges/until.ts';

/** What a process writes into a lock, or into a right to remove one. */
export type Holder = ProcessIdentity & { nonce: string };

/** A lock of a process of its own would be: ours, on this machine. */
export function lockIn(directory: string): FileLock {
  const path = join(directory, 'lock');
  return new FileLock(path, `${path}.servers`, createProcesses(directory));
}

export function asHolder(identity: ProcessIdentity): Holder {
  return { ...identity, nonce: randomBytes(8).toString('hex') };
}

/** A holder that was killed. */
export async function deadHolder(): Promise<Holder> {
  const child = spawn('sleep', ['100'], { stdio: 'ignore' });
  const exit = once(child, 'exit');
  const { pid = 0 } = child;
  const entry = await until('a process', () => processEntry(pid));
  child.kill('SIGKILL');
  await exit;
  return asHolder({ ...thisProcess(), pid, start: entry.start });
}

/** The number of a process that was there: what another program wrote down. */
export async function endedPid(): Promise<number> {
  const child = spawn('true', { stdio: 'ignore' });
  await once(child, 'exit');
  return child.pid ?? 0;
}

/** An ended process whose parent never waits for it. */
export async function zombieHolder() {
  const parent = spawn('sh', ['-c', 'true & exec sleep 100'], {
    stdio: 'ignore'
  });
  const zombie = await until('a zombie', () =>
    processTable().find((entry) => entry.parent === parent.pid && entry.zombie)
  );
  const { pid, start } = zombie;
  return {
    holder: asHolder({ ...thisProcess(), pid, start }),
    reap: () => parent.kill('SIGKILL')
  };
}

/** Puts a lock there, as its holder would. */
export function putLock(directory: string, holder: Holder): void {
  writeFileSync(join(directory, 'lock'), textOf(holder));
}

/** Puts a file next to the lock: a card, a right. */
export function putBeside(directory: string, name: string, owner: Holder) {
  const servers = join(directory, 'lock.servers');
  mkdirSync(servers, { recursive: true });
  writeFileSync(join(servers, name), textOf(owner));
}

function textOf(holder: Holder): string {
  return `${JSON.stringify(holder)}\n`;
}
