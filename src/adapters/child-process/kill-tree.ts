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
import { SharedTmux } from './agent-tmux.ts';
import { findAgentTree, lookTwice, nextSnapshot } from './agent-tree.ts';
import {
  hasGroup,
  isStillThere,
  type ProcessEntry,
  processEntry,
  thisNamespace
} from './process-table.ts';

interface KillTimes {
  /** Between TERM and KILL. */
  graceMs: number;
  /** Between KILL and giving up. */
  killMs: number;
  pollMs: number;
}

const defaultTimes: KillTimes = { graceMs: 3000, killMs: 1500, pollMs: 60 };

/** Looks at a supervisor that has written the exit code, until it has ended. */
const mostLooks = 5;

/** A supervisor fills its claim within this time after creating it. */
const claimMs = 500;

/**
 * Ends all processes of a run, and no other (see `findAgentTree`): TERM, grace,
 * KILL, until two looks in succession show none. It spares the supervisor and
 * waits for it, so a run that is just starting cannot escape, and one that is
 * just ending gets no stop request. A process that leaves its session and its
 * parent and clears its environment cannot be found. A tmux server that a
 * person uses too is spared.
 *
 * @param supervisor the pid of a supervisor that this process started and that
 *   has not ended: its claim may have been removed
 */
export async function killTree(
  target: StopTarget,
  supervisor?: number,
  given: Partial<KillTimes> = {}
): Promise<StopReport> {
  const times = { ...defaultTimes, ...given };
  const began = performance.now();
  const known = new Map<number, ProcessEntry>();
  const nested = new Map<string, Promise<StopReport>>();
  const sharedTmux = new SharedTmux(target.directory);
  let group: number | undefined;
  const inspect = async (): Promise<Inspection> => {
    // Read before the snapshot, which then contains the claiming supervisor.
    const claim = claimHere(target, supervisor);
    const snapshot = await nextSnapshot();
    // Read again: a slow snapshot gives time to record the watchdogs.
    const now = claim && { ...claim, ...claimHere(target, supervisor) };
    const tree = findAgentTree(target, now, known, snapshot);
    const isEarly = performance.now() - began < claimMs;
    const all = isEarly
      ? tree.members.filter(({ pid }) => !tree.starting.has(pid))
      : tree.members;
    const members = await sharedTmux.without(all, snapshot.entries);
    for (const member of tree.members) known.set(member.pid, member);
    for (const directory of target.withNested ? tree.nested : [])
      if (!nested.has(directory))
        nested.set(directory, endNested(directory, target, times));
    // A paused supervisor could not record how the agent ended.
    for (const pid of tree.spared) signal(pid, 'SIGCONT');
    const starting =
      claim !== undefined &&
      !hasExited(target.directory) &&
      (claim.supervisor ? tree.spared.length > 0 : !claim.never && isEarly);
    const isOver =
      !starting && !members.length && !(isEarly && tree.starting.size > 0);
    group ??= tree.session;
    const inGroup = snapshot.entries.filter((one) => one.group === group);
    const isOurs = inGroup.every((one) => members.includes(one));
    return { members, isOver, hasOwnGroup: isOurs };
  };
  const look = () => lookTwice(inspect, ({ isOver }) => isOver, times.pollMs);
  const terminated = new Set<number>();
  let request = target.request;
  const record = () => {
    if (request && !hasExited(target.directory))
      requestStop(target.directory, request);
    request = undefined;
  };
  // Pids from another machine or namespace mean nothing here.
  if (target.place !== thisNamespace()) record();
  let seen = await look();
  const graceEnds = began + times.graceMs;
  while (!seen.isOver && performance.now() < graceEnds) {
    // A snapshot takes time, and members that ended since need no signal.
    if (!request || seen.members.some(isStillThere))
      for (const { pid } of seen.members) {
        if (terminated.has(pid)) continue;
        record();
        terminated.add(pid);
        signal(pid, 'SIGTERM');
      }
    await delay(times.pollMs);
    seen = await look();
  }
  const killEnds = performance.now() + times.killMs;
  while (!seen.isOver && performance.now() < killEnds) {
    if (!request || seen.members.some(isStillThere)) {
      // Recorded before TERM, unless a late first snapshot left no time for it.
      record();
      for (const { pid } of seen.members) signal(pid, 'SIGKILL');
    }
    if (group && seen.hasOwnGroup) signal(-group, 'SIGKILL');
    await delay(times.pollMs);
    seen = await look();
  }
  // Recorded even if no process was found, because the run may still start.
  record();
  // A supervisor that has written the exit code is there for a moment longer.
  for (let looks = 1; group && hasGroup(group); looks += 1) {
    if (seen.hasOwnGroup) signal(-group, 'SIGKILL');
    if (seen.hasOwnGroup || looks > mostLooks || isInGroup(group)) break;
    await delay(times.pollMs);
    seen = await inspect();
  }
  const others = await Promise.all(nested.values());
  const left = seen.members.map((member) => member.pid);
  return { survivors: [...left, ...others.flatMap((one) => one.survivors)] };
}

interface Inspection {
  members: ProcessEntry[];
  /** No member is left, and no supervisor that may still start the agent. */
  isOver: boolean;
  /** Whether all that was seen in the supervisor's group are members. */
  hasOwnGroup: boolean;
}

/** Undefined for a run on another machine or in another namespace. */
function claimHere(
  { directory, place }: StopTarget,
  supervisor: number | undefined
): Claim | undefined {
  if (place !== thisNamespace()) return undefined;
  const claim = claimOf(directory, place);
  // A claim that was just created is empty.
  return claim?.supervisor || claim?.never
    ? claim
    : (claimBy(supervisor) ?? claim);
}

function claimBy(supervisor: number | undefined): Claim | undefined {
  const entry = supervisor && processEntry(supervisor);
  if (!entry) return undefined;
  const { pid, start } = entry;
  return {
    supervisor: { pid, start, place: thisNamespace() },
    watchdogs: [],
    never: false
  };
}

/** Whether this process is in a group, as is the reaper of a supervisor. */
function isInGroup(group: number): boolean {
  return processEntry(process.pid)?.group === group;
}

/** Ends an agent that the stopped agent has started. */
function endNested(
  directory: string,
  outer: StopTarget,
  times: KillTimes
): Promise<StopReport> {
  const reason = endedWith(basename(outer.directory));
  const request = { why: 'canceled', reason } as const;
  const { place } = outer;
  const target = { directory, place, withNested: true, request };
  return killTree(target, undefined, times);
}

/** Signals a process of a snapshot, if it has not ended since. */
export function signal(
  pid: number,
  name: 'SIGTERM' | 'SIGKILL' | 'SIGCONT'
): void {
  try {
    process.kill(pid, name);
  } catch {
    // It ended between the snapshot and the signal.
  }
}
