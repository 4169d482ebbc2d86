import { storageError } from '../../errors.ts';
import type { OwnRuns, Processes } from '../ports.ts';
import type { Run, RunRecord } from '../run.ts';
import { endedWith, hasExited, requestStop, wasClaimed } from '../run-files.ts';
import { isUnseen, tryNeverStarts } from '../run-state.ts';
import type { RunStore } from '../run-store.ts';
import { giveUp } from '../sign-of-life.ts';
import type { CancelWords, RunJournal } from './run-journal.ts';
import type { RunTracker } from './run-tracker.ts';

interface StopperDependencies {
  store: RunStore;
  journal: RunJournal;
  processes: Processes;
  tracker: RunTracker;
  starter: OwnRuns;
  onProblem: (problem: unknown) => void;
}

/**
 * Ends a run on request: its process tree and the agents it spawned.
 * A run that has ended keeps its outcome.
 * @returns the run as it stands afterwards; undefined for an unknown id
 */
export async function cancelRun(
  agentId: string,
  words: CancelWords,
  dependencies: StopperDependencies
): Promise<Run | undefined> {
  const { tracker } = dependencies;
  const run = await tracker.run(agentId);
  if (!run || run.outcome) return run;
  noteCancel(agentId, words, dependencies);
  await end(run.record, 'canceled', inFull(words), dependencies);
  return tracker.run(agentId);
}

/** Never throws: an agent is ended even when the journal cannot be written. */
function noteCancel(
  agentId: string,
  words: CancelWords,
  { journal, onProblem }: StopperDependencies
): void {
  try {
    journal.recordCancel(agentId, words);
  } catch (problem) {
    onProblem(problem);
  }
}

function inFull({ reason, who }: CancelWords): string | undefined {
  if (who === undefined) return reason;
  return reason === undefined ? who : `${reason} (${who})`;
}

const unclaimedHints = {
  full: 'Free some space and call again; the agent has not started.',
  unwritable:
    'Check its owner and permissions, and call again; the agent has not started.'
};

/**
 * Ends a run for the given reason and finalizes it.
 * @throws HostError `storage_full` or `storage_unwritable` if it has not
 *   started, and that it never does cannot be recorded
 */
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
  const request = { why, reason };
  if (!wasClaimed(directory)) {
    requestStop(directory, request);
    const never = tryNeverStarts(directory);
    if ('problem' in never)
      throw storageError(never.problem, directory, unclaimedHints);
    if (!never.isClaimed) {
      starter.drop(id);
      return tracker.look(id);
    }
  }
  const children = () => endChildren(id, dependencies);
  const { place } = record.owner;
  await allOf([
    processes.stop({ directory, place, withNested: true, request }),
    children()
  ]);
  // The agent may have spawned more agents while it was being ended.
  await children();
  await exitRecorded(directory);
  // Once the end is recorded, the watchdog on the run's machine stops it.
  if (!hasExited(directory) && isUnseen(record, directory, processes))
    giveUp(directory);
  await tracker.look(id);
}

/** Ends the agents that this one spawned, queued ones too. */
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
  await allOf(
    children.map((child) => end(child, 'canceled', reason, dependencies))
  );
}

/** A command that fails ends at once, so nothing may still be at work. */
async function allOf(works: Promise<unknown>[]): Promise<void> {
  await Promise.allSettled(works);
  await Promise.all(works);
}

/** Waits up to 0.5 s for the exit code that the supervisor writes last. */
async function exitRecorded(directory: string): Promise<void> {
  for (let tries = 0; tries < 50 && !hasExited(directory); tries += 1)
    await new Promise((resolve) => setTimeout(resolve, 10));
}
