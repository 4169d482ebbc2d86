import { existsSync } from 'node:fs';
import type { RunRecord } from '../runs/run.ts';
import { changesOf, patchOf } from './change-file.ts';
import type { FileChange } from './ports.ts';

interface ToldChanges {
  files_changed?: FileChange[];
  files_changed_total?: number;
  diff?: string;
  files_changed_note?: string;
  worktree?: {
    path: string;
    branch: string;
    base: string;
    removed?: true;
  };
}

/** What `result` says about the files an agent changed. */
export function reportChanges(
  { worktree }: RunRecord,
  directory: string
): ToldChanges {
  const changes = changesOf(directory);
  if (!changes) return {};
  const { files, total = 0, patch, note } = changes;
  return {
    ...(files ? { files_changed: files, files_changed_total: total } : {}),
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
