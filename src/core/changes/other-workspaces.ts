import { statSync } from 'node:fs';
import { join } from 'node:path';
import { otherRecords } from '../paths/records.ts';
import type { RunRecord } from '../runs/run.ts';
import { claimOf } from '../runs/run-files.ts';
import { liveStateOf } from '../runs/run-state.ts';
import { RunStore } from '../runs/run-store.ts';
import {
  type ConcurrentWritersDependencies,
  haveSameFiles,
  mayWrite,
  overlap
} from './concurrent-writers.ts';

/**
 * Agents of this user's other workspaces that may have written to the same
 * files since a time, such as those of a workspace in a subdirectory. Reads the
 * other records, so call it only for an agent whose comparison found changes.
 * @param since in milliseconds since the epoch
 * @returns descriptions such as `0badbeef (of /home/me/project/part)`
 */
export function writersElsewhere(
  record: RunRecord,
  since: number,
  dependencies: Omit<ConcurrentWritersDependencies, 'workers'>
): string[] {
  const { store, repositories } = dependencies;
  const { cwd, worktree } = record;
  const compared = worktree?.path ?? repositories.topOf(cwd) ?? cwd;
  return otherRecords(store.root)
    .filter(({ workspace }) => overlap(workspace, compared))
    .flatMap(({ path, workspace }) => {
      const other = new RunStore(path);
      return other
        .ids()
        .filter((id) => mayHaveWritten(id, other, record, since, dependencies))
        .map((id) => `${id} (of ${workspace})`);
    });
}

function mayHaveWritten(
  id: string,
  other: RunStore,
  record: RunRecord,
  since: number,
  { processes, repositories }: Omit<ConcurrentWritersDependencies, 'workers'>
): boolean {
  const directory = other.directoryOf(id);
  const endedAt = statSync(join(directory, 'outcome.json'), {
    throwIfNoEntry: false
  })?.mtimeMs;
  // Most agents ended long ago, and their records are not read.
  if (endedAt !== undefined && endedAt < since) return false;
  const run = other.recordOf(id);
  if (run?.kind !== 'cli' || !mayWrite(run)) return false;
  if (!haveSameFiles(run, record, repositories)) return false;
  if (endedAt !== undefined)
    return claimOf(directory, run.owner.place)?.never === false;
  const state = liveStateOf(run, directory, processes);
  return state === 'running' || state === 'ended';
}
