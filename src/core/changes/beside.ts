import type { Processes } from '../runs/ports.ts';
import type { RunRecord } from '../runs/run.ts';
import { addEvent, eventsOf } from '../runs/run-files.ts';
import { liveStateOf } from '../runs/run-state.ts';
import type { RunStore } from '../runs/run-store.ts';
import type { Repositories } from './ports.ts';

export interface BesideDependencies {
  store: RunStore;
  processes: Processes;
  repositories: Repositories;
}

/**
 * Notes in the folders of agents that share a repository's files who else is
 * at work there: what one changes, the other seems to have changed, too.
 */
export function noteCompany(
  record: RunRecord,
  { store, processes, repositories }: BesideDependencies
): void {
  const { agent_id: id } = record;
  const place = placeOf(record, repositories);
  for (const otherId of store.openIds()) {
    const other = otherId === id ? undefined : store.recordOf(otherId);
    if (other?.kind !== 'cli' || placeOf(other, repositories) !== place)
      continue;
    const directory = store.directoryOf(otherId);
    if (liveStateOf(other, directory, processes) !== 'running') continue;
    const own = store.directoryOf(id);
    if (mayWrite(other)) addEvent(own, { type: 'beside', agent_id: otherId });
    if (mayWrite(record)) addEvent(directory, { type: 'beside', agent_id: id });
  }
}

/** A sentence about those who were noted; undefined for none. */
export function companyOf(directory: string): string | undefined {
  const ids = eventsOf(directory)
    .filter(({ type }) => type === 'beside')
    .map(({ agent_id }) => String(agent_id));
  const all = [...new Set(ids)];
  if (all.length === 0) return undefined;
  const more = all.length > 5 ? ` and ${all.length - 5} more` : '';
  return `Also at work in the same files meanwhile: ${all.slice(0, 5).join(', ')}${more}. What they changed then is among these.`;
}

/** The directory whose files are compared. */
function placeOf({ cwd, worktree }: RunRecord, repositories: Repositories) {
  return worktree ? worktree.path : repositories.topOf(cwd);
}

function mayWrite({ access }: RunRecord): boolean {
  return access !== 'read';
}
