import { basename } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { StopReport, StopTarget } from '../../core/runs/ports.ts';
import {
  type Claim,
  claimOf,
  endedWith,
  hasExited,
  requestStop
} from '../../core/runs/run-files.ts';
import { findAgentTree } from './agent-tree.ts';
import { nextSnapshot } from './process-snapshot.ts';
import { type ProcessEntry, thisPlace } from './process-table.ts';

export interface KillTimes {
  /** Between TERM and KILL. */
  graceMs: number;
  /** Between KILL and giving up. */
  killMs: number;
  pollMs: number;
}

const defaultTimes: KillTimes = { graceMs: 3000, killMs: 1500, pollMs: 60 };

/** A claim is written down this soon after it was created. */
const claimMs = 500;

/**
 * Ends a run's whole tree and nothing else (see `findAgentTree`): TERM, grace,
 * KILL. The supervisor is spared and waited for, so that a run that is just
 * starting cannot slip through. A process that leaves its session and its
 * parent and wipes its environment cannot be found by anyone.
 */
export async function killTree(
  target: StopTarget,
  times: KillTimes = defaultTimes
): Promise<StopReport> {
  const began = performance.now();
  const known = new Map<number, ProcessEntry>();
  const nested = new Map<string, Promise<StopReport>>();
  const look = async (): Promise<Look> => {
    // First: who has claimed it by now is in the snapshot.
    const claim = claimHere(target);
    const snapshot = await nextSnapshot();
    const tree = findAgentTree(target, claim, known, snapshot);
    for (const member of tree.members) known.set(member.pid, member);
    for (const directory of target.withNested ? tree.nested : [])
      if (!nested.has(directory))
        nested.set(directory, endNested(directory, target, times));
    // Stopped ones could not write down how the agent ended.
    for (const pid of tree.spared) signal(pid, 'SIGCONT');
    const starting =
      claim !== undefined &&
      !hasExited(target.directory) &&
      (claim.supervisor
        ? tree.spared.length > 0
        : !claim.never && performance.now() - began < claimMs);
    return { members: tree.members, over: !starting && !tree.members.length };
  };
  const terminated = new Set<number>();
  let seen = await look();
  const graceEnds = began + times.graceMs;
  while (!seen.over && performance.now() < graceEnds) {
    for (const { pid } of seen.members) {
      if (terminated.has(pid)) continue;
      terminated.add(pid);
      signal(pid, 'SIGTERM');
    }
    await delay(times.pollMs);
    seen = await look();
  }
  const killEnds = performance.now() + times.killMs;
  while (!seen.over && performance.now() < killEnds) {
    for (const { pid } of seen.members) signal(pid, 'SIGKILL');
    await delay(times.pollMs);
    seen = await look();
  }
  const others = await Promise.all(nested.values());
  const left = seen.members.map((member) => member.pid);
  return { survivors: [...left, ...others.flatMap((one) => one.survivors)] };
}

interface Look {
  members: ProcessEntry[];
  /** Nobody is left, and nobody who might still start the agent. */
  over: boolean;
}

/** Undefined for a run of another machine: its numbers mean nothing here. */
function claimHere({ directory, place }: StopTarget): Claim | undefined {
  return place === thisPlace() ? claimOf(directory, place) : undefined;
}

/** An agent that this one spawned ends with it. */
function endNested(
  directory: string,
  outer: StopTarget,
  times: KillTimes
): Promise<StopReport> {
  const reason = endedWith(basename(outer.directory));
  requestStop(directory, { why: 'canceled', reason });
  return killTree({ directory, place: outer.place, withNested: true }, times);
}

function signal(pid: number, name: 'SIGTERM' | 'SIGKILL' | 'SIGCONT'): void {
  try {
    process.kill(pid, name);
  } catch {
    // It ended between our look and the signal, which is what we want.
  }
}
