import { changesOf } from '../../core/changes/change-file.ts';
import type { FileChange } from '../../core/changes/ports.ts';
import { counted } from './text.ts';

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

/** `2 files changed, +2 −0; troupe diff ID`, if the agent changed any. */
export function describeChanges(
  agentId: string,
  directory: string
): string | undefined {
  const lines = changedLines(directory);
  const { files = [], total = 0 } = changesOf(directory) ?? {};
  if (!lines || total === 0) return undefined;
  // Only the first hundred files are recorded with their lines.
  const least = total > files.length ? 'at least ' : '';
  const sum = `${least}+${lines.added} −${lines.removed}`;
  const shared = lines.isShared ? ', some perhaps by another agent' : '';
  return `${counted(total, 'file')} changed, ${sum}${shared}; troupe diff ${agentId}`;
}
