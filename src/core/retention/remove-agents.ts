import { constants, copyFileSync, existsSync, linkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setImmediate as breathe } from 'node:timers/promises';
import type { CleanedRecord } from '../audit/cleaned-record.ts';
import type { Journal } from '../audit/journal.ts';
import { patchOf } from '../changes/change-file.ts';
import { errnoOf, messageOf } from '../errors.ts';
import { keptPatch } from '../runs/cleaned-agent.ts';
import type { RunStore } from '../runs/run-store.ts';
import { hasOpenTurn, hasTurnLeft } from '../runs/session-turns.ts';
import { remove } from '../state/atomic-file.ts';
import { bytesBelow } from '../state/bytes-below.ts';
import { ensureDirectory } from '../state/directories.ts';
import type { Unit } from './choose.ts';
import type { Resident } from './resident.ts';
import type { Trash } from './trash.ts';

export interface RemovalTools {
  store: RunStore;
  journal: Journal;
  trash: Trash;
  onProblem: (problem: string) => void;
  /** Ends it after the agent it is at. */
  signal?: AbortSignal | undefined;
}

/**
 * Removes the folders of agents, and tells the journal of each.
 * @returns those that are gone by us: others may be at it, too, and somebody
 *   may have gone on with one just now
 */
export async function removeAgents(
  units: Unit[],
  tools: RemovalTools
): Promise<Resident[]> {
  const removed: Resident[] = [];
  for (const unit of units) {
    if (tools.signal?.aborted) break;
    for (const agent of takeOut(unit, tools)) {
      note(agent, tools);
      removePage(agent.agentId, tools);
      throwAway(agent.agentId, tools);
      removed.push(agent);
    }
    // A server answers in between.
    await breathe();
  }
  return removed;
}

/** Finishes what was begun by those who were killed at it. */
export function finishRemovals(tools: RemovalTools): number {
  const { trash } = tools;
  const adopted = trash.adopt();
  for (const { name, isTold } of adopted) {
    // Told twice is no harm, not told would be.
    if (/^[0-9a-f]{8}$/.test(name) && !isTold) {
      const bytes = bytesBelow(trash.pathOf(name));
      tools.store.sizes.noteGone(name, bytes);
      note({ agentId: name, bytes, completedAt: undefined }, tools);
    }
    throwAway(name, tools);
  }
  return adopted.length;
}

/** Out of their place, the newest first: what is left is a beginning. */
function takeOut(unit: Unit, tools: RemovalTools): Resident[] {
  const { store, trash, onProblem } = tools;
  const out: Resident[] = [];
  for (const agent of unit) {
    const { agentId } = agent;
    try {
      keepPatch(agentId, store);
      // First: whoever sends its request again may not get its id anew.
      store.sizes.noteGone(agentId, agent.bytes);
      if (trash.take(store.directoryOf(agentId), agentId)) out.push(agent);
    } catch (error) {
      if (store.has(agentId)) store.sizes.note(agentId);
      onProblem(`${agentId} stays: ${messageOf(error)}`);
      break;
    }
  }
  // Who goes on with it reserves a turn, and looks then whether it is there.
  if (!isWanted(unit, store)) return out;
  for (const { agentId } of out.toReversed()) {
    trash.putBack(store.directoryOf(agentId), agentId);
    store.sizes.note(agentId);
  }
  return [];
}

/** One that came since they were counted may have ended, too, by now. */
function isWanted(unit: Unit, store: RunStore): boolean {
  return unit.some(({ sessions, isChained }) =>
    sessions.some(
      (directory) =>
        hasOpenTurn(directory, store) ||
        (isChained && hasTurnLeft(directory, store))
    )
  );
}

/** A result named the patch by its path: nobody was given what is in it. */
function keepPatch(agentId: string, store: RunStore): void {
  const patch = patchOf(store.directoryOf(agentId));
  if (!existsSync(patch)) return;
  const kept = keptPatch(store.root, agentId);
  ensureDirectory(dirname(kept));
  try {
    linkSync(patch, kept);
  } catch (error) {
    // By one who was killed before the folder went.
    if (errnoOf(error) === 'EEXIST') return;
    copyFileSync(patch, kept, constants.COPYFILE_EXCL);
  }
}

/** What a page holds is to go, too; it is made again from the journal. */
function removePage(agentId: string, { store, onProblem }: RemovalTools): void {
  if (store.pages === undefined) return;
  const path = join(store.pages, `${agentId}.md`);
  try {
    remove(path);
  } catch (error) {
    onProblem(`${path} is left: ${messageOf(error)}`);
  }
}

type Gone = Pick<Resident, 'agentId' | 'bytes' | 'completedAt'>;

function note(gone: Gone, { journal, trash, onProblem }: RemovalTools) {
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
    // On a full disk there is room for it when the folder is gone.
    try {
      trash.empty(agentId);
      journal.append(record);
    } catch (error) {
      onProblem(`${agentId} is not in the journal: ${messageOf(error)}`);
    }
  }
  trash.noteTold(agentId);
}

function throwAway(name: string, { trash, onProblem }: RemovalTools): void {
  try {
    trash.empty(name);
  } catch (error) {
    onProblem(`${trash.pathOf(name)} is left: ${messageOf(error)}`);
  }
}
