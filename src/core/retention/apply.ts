import type { Journal } from '../audit/journal.ts';
import type { RunStore } from '../runs/run-store.ts';
import type { Witnesses } from '../state/file-lock.ts';
import { takeCensus } from './census.ts';
import { choose, type Policy, type Unit } from './choose.ts';
import { findLeftovers, removeFound } from './leftovers.ts';
import { finishRemovals, removeAgents } from './remove-agents.ts';
import type { Resident } from './resident.ts';
import { Trash } from './trash.ts';

export interface CleanTools {
  store: RunStore;
  journal: Journal;
  processes: Witnesses;
  onProblem: (problem: string) => void;
  signal?: AbortSignal | undefined;
}

/**
 * Removes agents, what killed cleans left, and what nobody needs any more
 * after that. Safe beside servers and other cleans; `also` is removed with it.
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
    // By what is there now: agents may have come since they were counted.
    const found = findLeftovers(store, left, (id) => store.has(id));
    removeFound(found, store, trash);
    return removed;
  } finally {
    trash.close();
  }
}

/** What a server does by itself, when it is told to. */
export async function applyPolicy(
  policy: Policy,
  tools: CleanTools
): Promise<Resident[]> {
  const residents = await takeCensus(tools.store);
  return removeAll(choose(residents, policy), residents, tools);
}
