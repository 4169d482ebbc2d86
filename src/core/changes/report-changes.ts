import { existsSync } from 'node:fs';
import type { RunRecord } from '../runs/run.ts';
import { changesOf, patchOf } from './change-file.ts';
import type { FileChange } from './ports.ts';

/** Characters of the list of files, as a part of what an answer may carry. */
const share = 0.75;

/** What `result` says about the files an agent changed. */
export function reportChanges(
  { worktree }: RunRecord,
  directory: string,
  budget: number
): Record<string, unknown> {
  const changes = changesOf(directory);
  if (!changes) return {};
  const { files, total = 0, patch, note } = changes;
  return {
    ...(files
      ? {
          files_changed: fitting(files, budget * share),
          files_changed_total: total
        }
      : {}),
    ...(patch === null ? {} : { diff: patchOf(directory) }),
    ...(note === undefined ? {} : { files_changed_note: note }),
    ...(worktree
      ? {
          worktree: {
            path: worktree.path,
            branch: worktree.branch,
            base: worktree.base,
            ...(existsSync(worktree.path) ? {} : { removed: true })
          }
        }
      : {})
  };
}

function fitting(files: FileChange[], budget: number): FileChange[] {
  let left = budget;
  const end = files.findIndex((file) => {
    left -= JSON.stringify(file).length;
    return left < 0;
  });
  return end < 0 ? files : files.slice(0, end);
}
