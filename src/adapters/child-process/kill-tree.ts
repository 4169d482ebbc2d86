import { setTimeout as delay } from 'node:timers/promises';
import type { StopReport, StopTarget } from '../../core/runs/ports.ts';
import {
  type ProcessEntry,
  processEnvironments,
  processTable
} from './process-table.ts';

/** Set in every agent's environment; children inherit it. */
export const agentMarker = 'TROUPE_AGENT_DIR';

export interface KillTimes {
  /** Between TERM and KILL. */
  graceMs: number;
  /** Between KILL and giving up. */
  killMs: number;
  pollMs: number;
}

const defaultTimes: KillTimes = { graceMs: 3000, killMs: 1500, pollMs: 60 };

interface Tree {
  members: ProcessEntry[];
  nested: Set<string>;
}

/**
 * Ends a run's whole tree and nothing else: descendants, processes of the
 * supervisor's session, and whatever carries the agent's marker though it
 * moved to another group, session or parent. The supervisor and its watchdog
 * are spared. A process that leaves its session and its parent and wipes its
 * environment cannot be found by anyone.
 */
export async function killTree(
  target: StopTarget,
  spared: number[] = [],
  times: KillTimes = defaultTimes
): Promise<StopReport> {
  const known = new Map<number, ProcessEntry>();
  const nested = new Set<string>();
  const look = () => {
    const tree = findTree(target, spared, known);
    for (const agent of tree.nested) nested.add(agent);
    for (const member of tree.members) known.set(member.pid, member);
    return tree.members;
  };
  const terminated = new Set<number>();
  let members = look();
  const graceEnds = performance.now() + times.graceMs;
  while (members.length > 0 && performance.now() < graceEnds) {
    for (const { pid } of members) {
      if (terminated.has(pid)) continue;
      terminated.add(pid);
      signal(pid, 'SIGTERM');
    }
    await delay(times.pollMs);
    members = look();
  }
  const killEnds = performance.now() + times.killMs;
  while (members.length > 0 && performance.now() < killEnds) {
    for (const { pid } of members) signal(pid, 'SIGKILL');
    await delay(times.pollMs);
    members = look();
  }
  return {
    nested: [...nested],
    survivors: members.map((member) => member.pid)
  };
}

function findTree(
  target: StopTarget,
  spared: number[],
  known: Map<number, ProcessEntry>
): Tree {
  const table = processTable().filter((entry) => !entry.zombie);
  const supervisor = table.find(
    (entry) =>
      entry.pid === target.supervisor?.pid &&
      entry.start === target.supervisor.start
  );
  const ours = sparedProcesses(table, supervisor, spared);
  const environments = processEnvironments(table.map((entry) => entry.pid));
  const inside = new Set<number>();
  for (const entry of table) {
    const familiar = known.get(entry.pid)?.start === entry.start;
    const sameSession = supervisor && entry.session === supervisor.pid;
    const marked = markerOf(environments.get(entry.pid)) === target.directory;
    if (familiar || sameSession || marked) inside.add(entry.pid);
  }
  if (supervisor) inside.add(supervisor.pid);
  addDescendants(table, inside, ours);
  return separate(table, inside, ours, environments, target.directory);
}

/** Keeps processes of other agents out, and names those agents. */
function separate(
  table: ProcessEntry[],
  inside: Set<number>,
  ours: Set<number>,
  environments: Map<number, string>,
  directory: string
): Tree {
  const tree: Tree = { members: [], nested: new Set() };
  for (const entry of table) {
    if (!inside.has(entry.pid) || ours.has(entry.pid)) continue;
    const marker = markerOf(environments.get(entry.pid));
    if (marker === undefined || marker === directory) tree.members.push(entry);
    else tree.nested.add(marker);
  }
  return tree;
}

/** The supervisor, its watchdogs and what they run, and ourselves. */
function sparedProcesses(
  table: ProcessEntry[],
  supervisor: ProcessEntry | undefined,
  spared: number[]
): Set<number> {
  const watchdogs = new Set(
    spared.filter((pid) =>
      table.some(
        (entry) => entry.pid === pid && entry.parent === supervisor?.pid
      )
    )
  );
  addDescendants(table, watchdogs, new Set());
  const ours = new Set([...watchdogs, process.pid, 1]);
  if (supervisor) ours.add(supervisor.pid);
  return ours;
}

function addDescendants(
  table: ProcessEntry[],
  inside: Set<number>,
  barrier: Set<number>
): void {
  for (let grown = true; grown; ) {
    grown = false;
    for (const { pid, parent } of table) {
      if (inside.has(pid) || !inside.has(parent)) continue;
      // What we spare is not followed, save the supervisor itself.
      if (barrier.has(pid)) continue;
      inside.add(pid);
      grown = true;
    }
  }
}

function markerOf(environment: string | undefined): string | undefined {
  const prefix = `${agentMarker}=`;
  return environment
    ?.split('\0')
    .find((line) => line.startsWith(prefix))
    ?.slice(prefix.length);
}

function signal(pid: number, name: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(pid, name);
  } catch {
    // It ended between our look and the signal, which is what we want.
  }
}
