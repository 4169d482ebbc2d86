import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { writeNew } from '../state/atomic-file.ts';
import type { RunStore } from './run-store.ts';

/**
 * The file `read` in an agent's folder: somebody was given its result. Only
 * what was read may be cleaned away by age or size. Whoever cannot write it
 * answers all the same; then the agent counts as unread.
 */
export function noteRead(
  agentId: string,
  store: Pick<RunStore, 'directoryOf' | 'outcomeOf'>
): void {
  const directory = store.directoryOf(agentId);
  try {
    if (!wasRead(directory) && store.outcomeOf(agentId))
      writeNew(join(directory, 'read'), '');
  } catch {
    // Somebody else wrote it, or the disk takes nothing.
  }
}

export function wasRead(directory: string): boolean {
  return existsSync(join(directory, 'read'));
}
