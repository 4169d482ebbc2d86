import type { Journal } from '../audit/journal.ts';
import type { Processes } from './ports.ts';
import type { Run, RunRecord } from './run.ts';
import {
  claimNeverStarts,
  endedWith,
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
  onProblem: (problem: unknown) => void;
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
  const { tracker } = dependencies;
  const run = await tracker.run(agentId);
  if (!run || run.outcome) return run;
  noteCancel(agentId, reason, dependencies);
  await end(run.record, 'canceled', reason, dependencies);
  return tracker.run(agentId);
}

/** Nothing that the disk says may keep an agent from being ended. */
function noteCancel(
  agent_id: string,
  reason: string | undefined,
  { journal, onProblem }: StopperDependencies
): void {
  try {
    const type = 'cancel_requested';
    journal.append({ type, agent_id, reason: reason ?? null });
  } catch (problem) {
    onProblem(problem);
  }
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
  requestStop(directory, { why, reason });
  if (claimNeverStarts(directory)) {
    starter.drop(id);
    return tracker.look(id);
  }
  const children = () => endChildren(id, dependencies);
  const { place } = record.owner;
  await Promise.all([
    processes.stop({ directory, place, withNested: true }),
    children()
  ]);
  // What it spawned while it was being ended.
  await children();
  await supervisorGone(directory);
  await tracker.look(id);
}

/** Agents that this one spawned end with it, also those still queued. */
async function endChildren(
  parentId: string,
  dependencies: StopperDependencies
): Promise<void> {
  const { store } = dependencies;
  const children = store
    .openIds()
    .map((id) => store.recordOf(id))
    .filter((record) => record?.parent === parentId)
    .filter((record) => record !== undefined);
  const reason = endedWith(parentId);
  await Promise.all(
    children.map((child) => end(child, 'canceled', reason, dependencies))
  );
}

/** The supervisor writes the exit code moments after its tree is gone. */
async function supervisorGone(directory: string): Promise<void> {
  for (let tries = 0; tries < 50 && !hasExited(directory); tries += 1)
    await new Promise((resolve) => setTimeout(resolve, 10));
}
