import { spawn } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished, vi } from 'vitest';
import {
  type ProcessEntry,
  processEntry,
  processEnvironments,
  processTable
} from '../../../src/adapters/child-process/process-table.ts';
import { justBefore } from '../judges/file-operations.ts';
import { until } from '../judges/until.ts';

export interface ProcessStage {
  /** A folder for agents. Processes that are marked with it end with it. */
  base: string;
  /** Starts a shell script in a session of its own. */
  start: (script: string, env?: Record<string, string>) => ProcessEntry;
  /** Ends a process with the test, if no other one has its pid by then. */
  endLater: (pid: number) => void;
  /** The processes that are marked with the folder of an agent. */
  left: () => number[];
}

const { now } = performance;
const clock = { aheadMs: 0 };

/**
 * Replaces the clock of this process until the end of the test, also one that
 * is set already, such as by the stage after another test.
 * @param at receives the milliseconds of the real clock
 */
export function setClock(at: (realMs: number) => number): void {
  vi.spyOn(performance, 'now').mockImplementation(() =>
    at(now.call(performance))
  );
  onTestFinished(() => void vi.restoreAllMocks());
}

/**
 * Stops the clock of this process until the end of the test; the result moves
 * it on. It never goes back, so that no pause of an earlier test is longer.
 */
export function stopClock(): (milliseconds: number) => void {
  // Sums of whole numbers are exact.
  let at = Math.ceil(performance.now());
  setClock(() => at);
  return (milliseconds) => {
    at += milliseconds;
    clock.aheadMs = Math.max(0, at - now.call(performance));
  };
}

/** A place for processes that all end with the test. */
export function createProcessStage(): ProcessStage {
  const { aheadMs } = clock;
  if (aheadMs > 0) setClock((realMs) => realMs + aheadMs);
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'troupe-stage-')));
  const leaders: ProcessEntry[] = [];
  const others: ProcessEntry[] = [];
  onTestFinished(async () => {
    vi.restoreAllMocks();
    for (const one of others) if (isThere(one)) kill(one.pid);
    await until('the end of all processes', () => {
      const left = [...markedBelow(base), ...leaders.flatMap(sessionOf)];
      for (const pid of left) kill(pid);
      return left.length === 0;
    });
    rmSync(base, { recursive: true, force: true, maxRetries: 5 });
  });
  return {
    base,
    start: (script, env = {}) => {
      const child = spawn('/bin/sh', ['-c', script], {
        detached: true,
        stdio: 'ignore',
        env: { PATH: process.env.PATH, ...env }
      });
      const entry = processEntry(child.pid ?? 0);
      if (!entry) throw new Error('It did not start.');
      leaders.push(entry);
      return entry;
    },
    endLater: (pid) => {
      const entry = processEntry(pid);
      if (entry) others.push(entry);
    },
    left: () => markedBelow(base)
  };
}

/** Follows whether a promise has been settled. */
export function follow<T>(promise: Promise<T>) {
  const state = { promise, isOver: false };
  const end = () => {
    state.isOver = true;
  };
  promise.then(end, end);
  return state;
}

/** Waits for further snapshots of all processes. */
export async function snapshots(count = 3): Promise<void> {
  let seen = 0;
  const next = () =>
    justBefore('list', '/proc', () => {
      seen += 1;
      if (seen < count + 1) next();
    });
  next();
  // The last one has begun, so the ones before are looked through.
  await until('further snapshots', () => seen > count);
}

/** Whether a process lives, and is the one of this entry. */
export function isThere({ pid, start }: ProcessEntry): boolean {
  const entry = processEntry(pid);
  return entry !== undefined && !entry.zombie && entry.start === start;
}

/** The living children of a process, once there are as many. */
export function childrenOf(pid: number, count = 1): Promise<ProcessEntry[]> {
  return until('its children', () => {
    const all = processTable();
    const found = all.filter((one) => one.parent === pid && !one.zombie);
    return found.length >= count ? found : undefined;
  });
}

/** The living processes of a session, unless its number was used again. */
function sessionOf({ pid, start }: ProcessEntry): number[] {
  const all = processTable();
  const isOther = all.some((one) => one.pid === pid && one.start !== start);
  return all
    .filter(({ session, zombie }) => session === pid && !zombie && !isOther)
    .map((one) => one.pid);
}

function markedBelow(base: string): number[] {
  const pids = processTable()
    .filter((entry) => !entry.zombie)
    .map(({ pid }) => pid);
  return [...processEnvironments(pids)]
    .filter(([, text]) => text.includes(`TROUPE_AGENT_DIR=${base}/`))
    .map(([pid]) => pid);
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}
