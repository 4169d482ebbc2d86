import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import {
  setTimeout as delay,
  setImmediate as nextTurn
} from 'node:timers/promises';
import type { ProcessIdentity } from '../../core/processes/process-identity.ts';
import type { StopTarget } from '../../core/runs/ports.ts';
import { type Claim, claimOf } from '../../core/runs/run-files.ts';
import {
  markerIn,
  type ProcessEntry,
  processEnvironments,
  processTable,
  thisNamespace
} from './process-table.ts';

interface AgentTree {
  members: ProcessEntry[];
  /** Members that may become the supervisor of an agent that this one started. */
  starting: Set<number>;
  /** Folders of agents that this one started. */
  nested: Set<string>;
  /** The supervisor, which still has to record the exit code, and its watchdogs. */
  spared: number[];
  /** Of the supervisor, whose pid is its number, as is that of its group. */
  session: number | undefined;
}

/**
 * Finds the processes of a run, and no other: descendants, processes of the
 * supervisor's session, and processes with the agent's marker in another
 * group, session or parent. The supervisor and its watchdogs are no members,
 * nor are agents with a supervisor of their own.
 *
 * @param claim read before the snapshot was taken
 * @param known earlier members, which stay members without their parent
 */
export function findAgentTree(
  target: StopTarget,
  claim: Claim | undefined,
  known: Map<number, ProcessEntry>,
  snapshot: ProcessSnapshot
): AgentTree {
  const { entries: table } = snapshot;
  const supervisor = find(table, claim?.supervisor);
  const watchdogs = watchdogsOf(table, supervisor, claim?.watchdogs ?? []);
  const spared = supervisor ? [supervisor.pid, ...watchdogs] : [];
  const ours = new Set([...spared, process.pid, 1]);
  const markers = snapshot.markersOf(youngerPids(table, claim));
  const isMarked = ({ pid }: ProcessEntry) =>
    markers.get(pid) === target.directory;
  const leader = supervisor ?? endedLeader(table, claim?.supervisor);
  // Later, its number may be that of another session, which has no mark.
  const isOurs =
    supervisor !== undefined ||
    target.justEnded ||
    table.some((entry) => entry.session === leader?.pid && isMarked(entry));
  const session = isOurs ? leader?.pid : undefined;
  const inside = new Set<number>();
  for (const entry of table) {
    // What this process starts is no part of the session that it is in.
    if (ours.has(entry.pid)) continue;
    const familiar = known.get(entry.pid)?.start === entry.start;
    const sameSession = session !== undefined && entry.session === session;
    if (familiar || sameSession || isMarked(entry)) inside.add(entry.pid);
  }
  if (supervisor) inside.add(supervisor.pid);
  addDescendants(table, inside, ours);
  const tree: AgentTree = {
    members: [],
    starting: new Set(),
    nested: new Set(),
    spared,
    session
  };
  for (const entry of table) {
    if (!inside.has(entry.pid) || ours.has(entry.pid)) continue;
    const marker = markers.get(entry.pid) ?? target.directory;
    if (marker !== target.directory && isAgent(marker, table, tree.nested)) {
      tree.nested.add(marker);
      continue;
    }
    tree.members.push(entry);
    if (marker !== target.directory && isUnclaimed(marker))
      tree.starting.add(entry.pid);
  }
  return tree;
}

/**
 * Processes that may belong to the agent, because they started after its
 * supervisor. A start time that is not a number excludes no process.
 */
function youngerPids(table: ProcessEntry[], claim: Claim | undefined) {
  const born = Number(claim?.supervisor?.start);
  return table
    .filter(({ start }) => !(Number(start) < born))
    .map(({ pid }) => pid);
}

function find(
  table: ProcessEntry[],
  identity: ProcessIdentity | undefined
): ProcessEntry | undefined {
  if (identity?.place !== thisNamespace()) return undefined;
  return table.find(
    ({ pid, start }) => pid === identity.pid && start === identity.start
  );
}

/**
 * A supervisor that has ended. Its session may be there still: it outlives its
 * leader, whose pid is not reused meanwhile.
 */
function endedLeader(
  table: ProcessEntry[],
  supervisor: ProcessIdentity | undefined
): ProcessIdentity | undefined {
  if (supervisor?.place !== thisNamespace()) return undefined;
  const isReused = table.some((entry) => entry.pid === supervisor.pid);
  return isReused ? undefined : supervisor;
}

/** Any process can set a marker; an agent also has a live supervisor. */
function isAgent(
  directory: string,
  table: ProcessEntry[],
  nested: Set<string>
): boolean {
  if (nested.has(directory)) return true;
  const file = statSync(join(directory, 'claim'), { throwIfNoEntry: false });
  if (!file?.isFile()) return false;
  return (
    find(table, claimOf(directory, thisNamespace())?.supervisor) !== undefined
  );
}

/** The folder of an agent whose supervisor has not begun. */
function isUnclaimed(directory: string): boolean {
  return existsSync(directory) && !existsSync(join(directory, 'claim'));
}

/** The supervisor's watchdogs and their descendants. */
function watchdogsOf(
  table: ProcessEntry[],
  supervisor: ProcessEntry | undefined,
  claimed: number[]
): Set<number> {
  const watchdogs = new Set(
    table
      .filter(({ parent }) => parent === supervisor?.pid)
      .map(({ pid }) => pid)
      .filter((pid) => claimed.includes(pid))
  );
  addDescendants(table, watchdogs, new Set());
  return watchdogs;
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
      // Skipping a process also skips its descendants.
      if (barrier.has(pid)) continue;
      inside.add(pid);
      grown = true;
    }
  }
}

/** All processes at one moment. */
class ProcessSnapshot {
  /** Without zombies. */
  readonly entries: ProcessEntry[];
  readonly #markers = new Map<number, string | undefined>();

  /** @throws if the process table cannot be read */
  constructor() {
    this.entries = processTable().filter((entry) => !entry.zombie);
  }

  /** The folder of the agent that started each of these processes. */
  markersOf(pids: number[]): Map<number, string> {
    const unread = pids.filter((pid) => !this.#markers.has(pid));
    if (unread.length > 0) {
      const environments = processEnvironments(unread);
      for (const pid of unread)
        this.#markers.set(pid, markerIn(environments.get(pid)));
    }
    const markers = new Map<number, string>();
    for (const pid of pids) {
      const directory = this.#markers.get(pid);
      if (directory !== undefined) markers.set(pid, directory);
    }
    return markers;
  }
}

/** The pause after a snapshot, as a multiple of the time that it took. */
const pauseFactor = 3;
/** A process that was paused amid a snapshot does not wait as long again. */
const mostPauseMs = 1000;

let pending: Promise<ProcessSnapshot> | undefined;
let pausedUntil = 0;

/**
 * A snapshot that is taken after this call. Concurrent calls share it, so that
 * hundreds of agents that end at once do not take one each.
 * @throws as `ProcessSnapshot`
 */
export function nextSnapshot(): Promise<ProcessSnapshot> {
  pending ??= takeNext();
  return pending;
}

async function takeNext(): Promise<ProcessSnapshot> {
  const pauseMs = Math.min(pausedUntil - performance.now(), mostPauseMs);
  await (pauseMs > 0 ? delay(pauseMs) : nextTurn());
  pending = undefined;
  const began = performance.now();
  const snapshot = new ProcessSnapshot();
  const ended = performance.now();
  pausedUntil = ended + pauseFactor * (ended - began);
  return snapshot;
}

/**
 * A look at processes, and another one if it shows none: a single look misses a
 * process that is in its `execve`, or whose parent ended while all were read.
 */
export async function lookTwice<Seen>(
  look: () => Promise<Seen>,
  isEmpty: (seen: Seen) => boolean,
  pauseMs: number
): Promise<Seen> {
  const seen = await look();
  if (!isEmpty(seen)) return seen;
  await delay(pauseMs);
  return look();
}
