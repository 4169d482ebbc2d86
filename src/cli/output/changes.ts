import { changedLines } from '../../answers/changed-lines.ts';
import { changesOf } from '../../core/changes/change-file.ts';
import { counted } from './text.ts';

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
