import { isInside } from '../paths/troupe-home.ts';
import type { Processes } from '../runs/ports.ts';
import type { RunRecord } from '../runs/run.ts';
import { addEvent, eventsOf } from '../runs/run-files.ts';
import { type LiveState, liveStateOf, statusOf } from '../runs/run-state.ts';
import type { RunStore } from '../runs/run-store.ts';
import { changesOf } from './change-file.ts';
import { worksIn } from './own-worktree.ts';
import type { Repositories } from './ports.ts';

/**
 * An agent or worker that may write to files. Two of them have the same files
 * if one comparison covers the directories of both.
 */
type Writer = Pick<
  RunRecord,
  'agent_id' | 'cwd' | 'access' | 'enforcement' | 'worktree'
>;

/** A worker, for which there is no run record. */
export interface WorkerAtWork extends Writer {
  created_at: string;
  isOver: boolean;
}

export interface ConcurrentWritersDependencies {
  store: RunStore;
  processes: Processes;
  repositories: Repositories;
  workers: () => WorkerAtWork[];
}

/** The longest a spawn waits for git; then the warning is issued anyway. */
const checkMs = 120;

/**
 * Returns a warning if another agent may change the same directory, and there
 * is uncommitted work in it.
 * @param isInTurn whether members of the same squad run one after the other,
 *   and cause no warning
 */
export async function warnOfOtherWriters(
  record: RunRecord,
  dependencies: Omit<ConcurrentWritersDependencies, 'workers'> & {
    settings: { workspace: string };
  },
  isInTurn = false
): Promise<string | undefined> {
  const { repositories, settings } = dependencies;
  const { cwd: directory, kind, worktree, squad } = record;
  if (kind !== 'cli' || worktree || !mayWrite(record)) return undefined;
  if (!repositories.topOf(directory)) return undefined;
  const squadId = isInTurn ? squad?.squadId : undefined;
  const other = concurrentRuns(record, dependencies).find(
    ({ run, state }) =>
      statusOf(state) !== 'ended' &&
      mayWrite(run) &&
      // Agents that are only asked to read cause no warning for each other.
      (record.access !== 'read' || run.access !== 'read') &&
      overlap(run.cwd, directory) &&
      (squadId === undefined || run.squad?.squadId !== squadId)
  );
  if (!other) return undefined;
  const view = { directory, owned: [settings.workspace] };
  const isUncommitted = await repositories
    .hasUncommitted(view, AbortSignal.timeout(checkMs))
    .catch(() => true);
  if (!isUncommitted) return undefined;
  const { agent_id: id, label } = other.run;
  const advice = squad
    ? 'give members separate files to edit'
    : 'isolate: "worktree" would keep the two apart';
  return `Agent ${id} (${label}) may be writing to the same files, where there is uncommitted work: ${advice}.`;
}

/**
 * Records in an agent's folder which other writers have the same files at the
 * same time, because a comparison finds the changes of all of them. Does so for
 * a starting agent and for the agents that it meets. An agent that has ended
 * counts until its files are compared.
 */
export function noteConcurrentWriters(
  record: RunRecord,
  dependencies: ConcurrentWritersDependencies
): void {
  const { store, repositories, workers } = dependencies;
  const own = store.directoryOf(record.agent_id);
  const note = (directory: string, agent_id: string) =>
    addEvent(directory, { type: 'beside', agent_id });
  for (const { run, state } of concurrentRuns(record, dependencies)) {
    const directory = store.directoryOf(run.agent_id);
    if (state === 'queued' || changesOf(directory)) continue;
    if (mayWrite(run)) note(own, run.agent_id);
    if (mayWrite(record)) note(directory, record.agent_id);
  }
  for (const worker of workers())
    if (!worker.isOver && mayWrite(worker))
      if (haveSameFiles(worker, record, repositories))
        note(own, worker.agent_id);
}

/** Ids of all agents and workers that may have written to the same files. */
export function concurrentWritersOf(
  record: RunRecord,
  { store, repositories, workers }: ConcurrentWritersDependencies
): string[] {
  const noted = eventsOf(store.directoryOf(record.agent_id))
    .filter(({ type }) => type === 'beside')
    .map(({ agent_id }) => String(agent_id));
  const active = workers().filter(
    (worker) =>
      (!worker.isOver || worker.created_at >= record.created_at) &&
      mayWrite(worker) &&
      haveSameFiles(worker, record, repositories)
  );
  return [...new Set([...noted, ...active.map(({ agent_id }) => agent_id)])];
}

/** Runs without a recorded end that have the same files, oldest first. */
function concurrentRuns(
  record: RunRecord,
  {
    store,
    processes,
    repositories
  }: Omit<ConcurrentWritersDependencies, 'workers'>
): { run: RunRecord; state: LiveState }[] {
  return store.openIds().flatMap((id) => {
    const run = id === record.agent_id ? undefined : store.recordOf(id);
    if (run?.kind !== 'cli' || store.hasOutcome(id)) return [];
    if (!haveSameFiles(run, record, repositories)) return [];
    const state = liveStateOf(run, store.directoryOf(id), processes);
    return [{ run, state }];
  });
}

/** A worktree is compared alone, any other directory with its repository. */
export function haveSameFiles(
  one: Writer,
  other: Writer,
  { topOf }: Repositories
): boolean {
  if (one.worktree) return worksIn(other, one.worktree);
  if (other.worktree) return worksIn(one, other.worktree);
  return overlap(topOf(one.cwd) ?? one.cwd, topOf(other.cwd) ?? other.cwd);
}

/** An agent that is only asked to read may write nevertheless. */
export function mayWrite({ access, enforcement }: Writer): boolean {
  return access !== 'read' || enforcement !== 'enforced';
}

/** Whether one directory is or contains the other. */
export function overlap(a: string, b: string): boolean {
  return isInside(a, b) || isInside(b, a);
}
