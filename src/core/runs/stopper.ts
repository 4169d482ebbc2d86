import type { Journal } from '../audit/journal.ts';
import type { Processes } from './ports.ts';
import type { Run, RunRecord } from './run.ts';
import {
  claimNeverStarts,
  claimOf,
  hasExited,
  requestStop
} from './run-files.ts';
import type { RunStore } from './run-store.ts';
import type { RunTracker } from './run-tracker.ts';
import type { RunStarter } from './starter.ts';

export interface StopperDependencies {
  store: RunStore;
  journal: Journal;
  processes: Processes;
  tracker: RunTracker;
  starter: RunStarter;
}

/**
 * Ends a run on request: its whole tree, the agents it spawned, nothing else.
 * A run that has ended already stays as it ended.
 * @returns the run as it stands afterwards; undefined for an unknown id
 */
export async function cancelRun(
  agentId: string,
  reason: string | undefined,
  dependencies: StopperDependencies
): Promise<Run | undefined> {
  const { journal, tracker } = dependencies;
  const run = await tracker.run(agentId);
  if (!run || run.outcome) return run;
  journal.append({
    type: 'cancel_requested',
    agent_id: agentId,
    reason: reason ?? null
  });
  await end(run.record, 'canceled', reason, dependencies);
  return tracker.run(agentId);
}

/** Ends a run for the given reason and settles it. */
export async function end(
  record: RunRecord,
  why: 'canceled' | 'disconnect',
  reason: string | undefined,
  dependencies: StopperDependencies
): Promise<void> {
  const { store, processes, tracker, starter } = dependencies;
  const { agent_id: id } = record;
  const directory = store.directoryOf(id);
  if (hasExited(directory)) return tracker.look(id);
  requestStop(directory, why, reason);
  if (claimNeverStarts(directory)) {
    starter.drop(id);
    return tracker.look(id);
  }
  const { nested } = await processes.stop({
    agentId: id,
    directory,
    supervisor: claimOf(directory, record.owner.place)?.supervisor
  });
  await endNested(record, nested, dependencies);
  await supervisorGone(directory);
  await tracker.look(id);
}

/** Agents that this one spawned end with it. */
async function endNested(
  parent: RunRecord,
  found: string[],
  dependencies: StopperDependencies
): Promise<void> {
  const { store } = dependencies;
  for (const id of store.openIds()) {
    const record = store.recordOf(id);
    if (!record || id === parent.agent_id) continue;
    const inTree = found.includes(store.directoryOf(id));
    if (record.parent !== parent.agent_id && !inTree) continue;
    const reason = `agent ${parent.agent_id}, which spawned it, was ended`;
    await end(record, 'canceled', reason, dependencies);
  }
}

/** The supervisor writes the exit code moments after its tree is gone. */
async function supervisorGone(directory: string): Promise<void> {
  for (let tries = 0; tries < 50 && !hasExited(directory); tries += 1)
    await new Promise((resolve) => setTimeout(resolve, 10));
}
