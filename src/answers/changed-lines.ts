import { changesOf } from '../core/changes/change-file.ts';
import type { FileChange } from '../core/changes/ports.ts';

interface ChangedLines {
  added: number;
  removed: number;
  /** Another agent may have changed some of them. */
  isShared?: boolean;
}

/** The lines that an agent changed; undefined if they were not compared. */
export function changedLines(directory: string): ChangedLines | undefined {
  const files = changesOf(directory)?.files;
  if (!files) return undefined;
  const sum = (name: 'added' | 'removed') =>
    files.reduce((total, file: FileChange) => total + (file[name] ?? 0), 0);
  const isShared = files.some(({ shared }) => shared);
  return { added: sum('added'), removed: sum('removed'), isShared };
}
