import { isInside } from '../paths/troupe-home.ts';
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
 * @param isInTurn it comes after others of its squad
 */
export async function warnOfOtherWriters(
  record: RunRecord,
  dependencies: OtherWritersDependencies,
  isInTurn = false
): Promise<string | undefined> {
  const { repositories, settings } = dependencies;
  const { cwd: directory } = record;
  if (!repositories.topOf(directory)) return undefined;
  const other = otherBeside(record, dependencies, isInTurn);
  if (!other) return undefined;
  const view = { directory, roots: [settings.workspace] };
  const isUncommitted = await repositories
    .hasUncommitted(view, AbortSignal.timeout(lookMs))
    .catch(() => true);
  if (!isUncommitted) return undefined;
  return `Agent ${other.agent_id} (${other.label}) may be writing to the same files, where there is uncommitted work: ${adviceFor(record)}.`;
}

function adviceFor({ squad }: RunRecord): string {
  return squad
    ? 'give members separate files to edit'
    : 'isolate: "worktree" would keep the two apart';
}

/** The oldest that is queued or running and may write where this one may. */
function otherBeside(
  record: RunRecord,
  { store, processes }: OtherWritersDependencies,
  isInTurn: boolean
): RunRecord | undefined {
  if (!isWriter(record)) return undefined;
  const squadId = isInTurn ? record.squad?.squadId : undefined;
  for (const id of store.openIds()) {
    const other = id === record.agent_id ? undefined : store.recordOf(id);
    if (!other || !isWriter(other) || !overlap(other.cwd, record.cwd)) continue;
    if (squadId !== undefined && other.squad?.squadId === squadId) continue;
    if (store.hasOutcome(id)) continue;
    const state = liveStateOf(other, store.directoryOf(id), processes);
    if (state === 'queued' || state === 'running') return other;
  }
  return undefined;
}

function isWriter({ kind, access, worktree }: RunRecord): boolean {
  return kind === 'cli' && access !== 'read' && !worktree;
}

/** One is the other, or lies in it. */
function overlap(a: string, b: string): boolean {
  return isInside(a, b) || isInside(b, a);
}
