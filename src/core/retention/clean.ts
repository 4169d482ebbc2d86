import { constants, copyFileSync, existsSync, linkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setImmediate as yieldTurn } from 'node:timers/promises';
import type { Journal } from '../audit/journal/journal.ts';
import type { CleanedRecord } from '../audit/journal/journal-record.ts';
import { patchOf } from '../changes/change-file.ts';
import { errnoOf, messageOf } from '../errors.ts';
import { keptPatch } from '../runs/damaged-run.ts';
import { isAgentId } from '../runs/run.ts';
import type { RunStore } from '../runs/run-store.ts';
import { hasOpenTurn, hasTurnLeft } from '../runs/sessions/session-turns.ts';
import { remove } from '../state/files/atomic-file.ts';
import { bytesBelow, ensureDirectory } from '../state/files/directories.ts';
import type { LivenessCheck } from '../state/locks/file-lock.ts';
import { findLeftovers, removeFound } from './leftovers.ts';
import { scanRecord } from './scan.ts';
import { choose, type Policy, type Resident, type Unit } from './select.ts';
import { Trash } from './trash.ts';

export interface CleanTools {
  store: RunStore;
  journal: Journal;
  processes: LivenessCheck;
  onProblem: (problem: string) => void;
  /** Stops the clean after the current unit. */
  signal?: AbortSignal | undefined;
}

/**
 * Removes agents, finishes the removals of killed cleans, and then removes
 * files that no agent needs any more. Servers and other cleans may run
 * meanwhile.
 * @param also removes more, with the same trash
 * @returns the agents that this call removed
 */
export async function removeAll(
  units: Unit[],
  residents: Resident[],
  tools: CleanTools,
  also: (trash: Trash) => void = () => undefined
): Promise<Resident[]> {
  const { store, processes } = tools;
  const trash = new Trash(store.root, processes);
  try {
    const removed = await removeAgents(units, { ...tools, trash });
    also(trash);
    finishRemovals({ ...tools, trash });
    const gone = new Set(removed);
    const left = residents.filter((one) => !gone.has(one));
    // Checks the store, because agents may have been created since the scan.
    const found = findLeftovers(store, left, (id) => store.has(id));
    removeFound(found, store, trash);
    return removed;
  } finally {
    trash.close();
  }
}

/** The automatic clean of a server, if it is configured. */
export async function applyPolicy(
  policy: Policy,
  tools: CleanTools
): Promise<Resident[]> {
  const residents = await scanRecord(tools.store);
  return removeAll(choose(residents, policy), residents, tools);
}

interface RemovalTools extends Omit<CleanTools, 'processes'> {
  trash: Trash;
}

/**
 * Removes the folders of agents, and records each removal in the journal.
 * @returns the agents that this call removed, without agents that another clean
 *   removed or that were continued meanwhile
 */
export async function removeAgents(
  units: Unit[],
  tools: RemovalTools
): Promise<Resident[]> {
  const removed: Resident[] = [];
  for (const unit of units) {
    if (tools.signal?.aborted) break;
    for (const agent of moveToTrash(unit, tools)) {
      note(agent, tools);
      removePage(agent.agentId, tools);
      emptyTrash(agent.agentId, tools);
      removed.push(agent);
    }
    // A server answers requests between units.
    await yieldTurn();
  }
  return removed;
}

/** Finishes the removals of killed cleans. */
function finishRemovals(tools: RemovalTools): void {
  const { store, trash } = tools;
  for (const { name, isJournalled } of trash.adopt()) {
    // The killed clean may have recorded the removal without the mark for it.
    if (isAgentId(name) && !isJournalled) {
      const bytes = bytesBelow(trash.pathOf(name));
      store.sizes.noteGone(name, bytes);
      note({ agentId: name, bytes, completedAt: undefined }, tools);
    }
    emptyTrash(name, tools);
  }
}

/** Moves a unit to the trash, newest first: a failure leaves first turns. */
function moveToTrash(unit: Unit, tools: RemovalTools): Resident[] {
  const { store, trash, onProblem } = tools;
  const moved: Resident[] = [];
  for (const agent of unit) {
    const { agentId } = agent;
    try {
      keepPatch(agentId, store);
      // Before the move: a repeated request must not get this agent's id again.
      store.sizes.noteGone(agentId, agent.bytes);
      if (trash.take(store.directoryOf(agentId), agentId)) moved.push(agent);
    } catch (error) {
      if (store.has(agentId)) store.sizes.note(agentId);
      onProblem(`${agentId} stays: ${messageOf(error)}`);
      break;
    }
  }
  // A run that continues an agent reserves its turn before it reads the agent.
  if (!isContinued(unit, store)) return moved;
  for (const { agentId } of moved.toReversed()) {
    trash.putBack(store.directoryOf(agentId), agentId);
    store.sizes.note(agentId);
  }
  return [];
}

/** Whether a session was continued since the scan, even by a run that ended. */
function isContinued(unit: Unit, store: RunStore): boolean {
  return unit.some(({ sessions, isChained }) =>
    sessions.some(
      (directory) =>
        hasOpenTurn(directory, store) ||
        (isChained && hasTurnLeft(directory, store))
    )
  );
}

/** Keeps the patch, because results have its path and not its content. */
function keepPatch(agentId: string, store: RunStore): void {
  const patch = patchOf(store.directoryOf(agentId));
  if (!existsSync(patch)) return;
  const kept = keptPatch(store.root, agentId);
  ensureDirectory(dirname(kept));
  try {
    linkSync(patch, kept);
  } catch (error) {
    // A clean kept the patch, and was killed before it moved the folder.
    if (errnoOf(error) === 'EEXIST') return;
    copyFileSync(patch, kept, constants.COPYFILE_EXCL);
  }
}

/** Removes an agent's page, which is rendered again from the journal. */
function removePage(agentId: string, { store, onProblem }: RemovalTools): void {
  if (store.pages === undefined) return;
  const path = join(store.pages, `${agentId}.md`);
  try {
    remove(path);
  } catch (error) {
    onProblem(`${path} was not removed: ${messageOf(error)}`);
  }
}

function note(
  gone: Pick<Resident, 'agentId' | 'bytes' | 'completedAt'>,
  { journal, trash, onProblem }: RemovalTools
): void {
  const { agentId, bytes, completedAt } = gone;
  const record: CleanedRecord = {
    type: 'cleaned',
    agent_id: agentId,
    bytes,
    completed_at: completedAt ?? null
  };
  try {
    journal.append(record);
  } catch {
    // On a full disk, the removal of the folder frees space.
    try {
      trash.empty(agentId);
      journal.append(record);
    } catch (error) {
      onProblem(`${agentId} is not in the journal: ${messageOf(error)}`);
    }
  }
  trash.noteJournalled(agentId);
}

function emptyTrash(name: string, { trash, onProblem }: RemovalTools): void {
  try {
    trash.empty(name);
  } catch (error) {
    onProblem(`${trash.pathOf(name)} was not removed: ${messageOf(error)}`);
  }
}
