import { isInside } from '../runs/containment.ts';
import type { Processes } from '../runs/ports.ts';
import type { RunRecord } from '../runs/run.ts';
import { liveStateOf } from '../runs/run-state.ts';
import type { RunStore } from '../runs/run-store.ts';
import type { Repositories } from './ports.ts';

export interface OtherWritersDependencies {
  store: RunStore;
  processes: Processes;
  repositories: Repositories;
  settings: { workspace: string };
}

/** A spawn is not held up for longer; not knowing is a reason to warn. */
const lookMs = 120;

/**
 * One sentence when another agent may change the same files as this one while
 * there is work that no commit keeps.
 */
export async function warnOfOtherWriters(
  record: RunRecord,
  dependencies: OtherWritersDependencies
): Promise<string | undefined> {
  const [other] = othersBeside(record, dependencies);
  if (!other) return undefined;
  const { repositories, settings } = dependencies;
  const { cwd: directory } = record;
  if (!repositories.topOf(directory)) return undefined;
  const view = { directory, roots: [settings.workspace] };
  const isUncommitted = await repositories
    .hasUncommitted(view, AbortSignal.timeout(lookMs))
    .catch(() => true);
  if (!isUncommitted) return undefined;
  return `Agent ${other.agent_id} (${other.label}) may be writing to the same files, where there is uncommitted work: isolate: "worktree" would keep the two apart.`;
}

/** Agents that are queued or running and may write where this one may. */
function othersBeside(
  record: RunRecord,
  { store, processes }: OtherWritersDependencies
): RunRecord[] {
  if (!isWriter(record)) return [];
  return store
    .openIds()
    .filter((id) => id !== record.agent_id && !store.outcomeOf(id))
    .map((id) => store.recordOf(id))
    .filter((other) => other !== undefined)
    .filter((other) => isWriter(other) && overlap(other.cwd, record.cwd))
    .filter((other) => {
      const directory = store.directoryOf(other.agent_id);
      const state = liveStateOf(other, directory, processes);
      return state === 'queued' || state === 'running';
    });
}

function isWriter({ kind, access, worktree }: RunRecord): boolean {
  return kind === 'cli' && access !== 'read' && !worktree;
}

/** One is the other, or lies in it. */
function overlap(a: string, b: string): boolean {
  return isInside(a, b) || isInside(b, a);
}
