import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { StopTarget } from '../../core/runs/ports.ts';
import type { ProcessIdentity } from '../../core/runs/run.ts';
import { type Claim, claimOf } from '../../core/runs/run-files.ts';
import type { ProcessSnapshot } from './process-snapshot.ts';
import { type ProcessEntry, thisPlace } from './process-table.ts';

export interface AgentTree {
  members: ProcessEntry[];
  /** Folders of other agents that were started from inside this one. */
  nested: Set<string>;
  /** The supervisor, which records the exit code, and its watchdogs. */
  spared: number[];
}

/**
 * A run's processes and nothing else: descendants, processes of the
 * supervisor's session, and whatever carries the agent's marker though it
 * moved to another group, session or parent. The supervisor and its watchdogs
 * are no members, nor are agents that have a supervisor of their own.
 *
 * @param claim as it was before the snapshot was taken
 * @param known members seen before: they stay so without their parent
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
  const session =
    supervisor?.pid ??
    (target.justEnded ? leftSession(table, claim?.supervisor) : undefined);
  const inside = new Set<number>();
  for (const entry of table) {
    const familiar = known.get(entry.pid)?.start === entry.start;
    const sameSession = session !== undefined && entry.session === session;
    const marked = markers.get(entry.pid) === target.directory;
    if (familiar || sameSession || marked) inside.add(entry.pid);
  }
  if (supervisor) inside.add(supervisor.pid);
  addDescendants(table, inside, ours);
  const tree: AgentTree = { members: [], nested: new Set(), spared };
  for (const entry of table) {
    if (!inside.has(entry.pid) || ours.has(entry.pid)) continue;
    const marker = markers.get(entry.pid) ?? target.directory;
    if (marker !== target.directory && isAgent(marker, table, tree.nested))
      tree.nested.add(marker);
    else tree.members.push(entry);
  }
  return tree;
}

/**
 * What was there before the supervisor is not the agent's: its environment
 * need not be read. Start times that are no numbers say nothing.
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
  if (identity?.place !== thisPlace()) return undefined;
  return table.find(
    ({ pid, start }) => pid === identity.pid && start === identity.start
  );
}

/** A session outlives its leader, and keeps its number from others so long. */
function leftSession(
  table: ProcessEntry[],
  supervisor: ProcessIdentity | undefined
): number | undefined {
  if (supervisor?.place !== thisPlace()) return undefined;
  const isReused = table.some((entry) => entry.pid === supervisor.pid);
  return isReused ? undefined : supervisor.pid;
}

/** Anyone can set a marker; only a living supervisor makes it an agent's. */
function isAgent(
  directory: string,
  table: ProcessEntry[],
  nested: Set<string>
): boolean {
  if (nested.has(directory)) return true;
  const file = statSync(join(directory, 'claim'), { throwIfNoEntry: false });
  if (!file?.isFile()) return false;
  return find(table, claimOf(directory, thisPlace())?.supervisor) !== undefined;
}

/** The supervisor's watchdogs and what they run. */
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
      // What we spare is not followed, save the supervisor itself.
      if (barrier.has(pid)) continue;
      inside.add(pid);
      grown = true;
    }
  }
}
