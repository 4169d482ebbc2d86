import { lstatSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { RunStore } from '../runs/run-store.ts';
import { hasOpenTurn } from '../runs/session-turns.ts';
import { SquadStore } from '../squads/squad-store.ts';
import {
  leftoversIn,
  readIfThere,
  removeLeftovers
} from '../state/atomic-file.ts';
import { namesIn } from '../state/directories.ts';
import { isOurs } from './census.ts';
import type { Resident } from './resident.ts';
import type { Trash } from './trash.ts';

/** What is younger may belong to something that is being made. */
const youngMs = 60_000;

/** What nobody needs any more when only some agents are left. */
export interface Leftovers {
  /** Ids of squads of which no member's folder is there. */
  squads: string[];
  /** Folders with turns of sessions that nobody can go on with. */
  sessions: string[];
  /** Marks of agents that never came to be. */
  marks: string[];
  /** Folders of agents that were never whole. */
  drafts: number;
}

/**
 * @param residents agents that are known to be there
 * @param isThere whether an agent is, or would be
 */
export function findLeftovers(
  store: RunStore,
  residents: Resident[],
  isThere: (agentId: string) => boolean,
  now = Date.now()
): Leftovers {
  const within = (name: string) => oldNamesIn(join(store.root, name), now);
  return {
    squads: within('squads').flatMap((name) => {
      const id = basename(name, '.json');
      const squad = new SquadStore(store.root).find(id);
      const isGone = squad?.members.every(({ agentId }) => !isThere(agentId));
      return isGone && name.endsWith('.json') ? [id] : [];
    }),
    sessions: unreachable(within('sessions'), store, residents, isThere),
    marks: within('open').filter(
      (id) => /^[0-9a-f]{8}$/.test(id) && !store.has(id)
    ),
    drafts: isOurs(store.drafts) ? leftoversIn(store.drafts, now).length : 0
  };
}

export function removeFound(
  { squads, sessions, marks }: Leftovers,
  store: RunStore,
  trash: Trash
): void {
  for (const id of squads) new SquadStore(store.root).discard(id);
  for (const path of sessions) {
    const name = `session-${basename(path)}`;
    if (!trash.take(path, name)) continue;
    // Somebody may have lined up in it since it was looked at.
    if (hasOpenTurn(trash.pathOf(name), store)) trash.putBack(path, name);
    else trash.empty(name);
  }
  for (const id of marks) if (!store.has(id)) store.close(id);
  if (isOurs(store.drafts)) removeLeftovers(store.drafts);
}

function unreachable(
  names: string[],
  store: RunStore,
  residents: Resident[],
  isThere: (agentId: string) => boolean
): string[] {
  const reachable = new Set(residents.flatMap(({ sessions }) => sessions));
  return names
    .filter((name) => /^[0-9a-f]{32}$/.test(name))
    .map((name) => join(store.root, 'sessions', name))
    .filter((path) => !reachable.has(path) && isOurs(path))
    .filter((path) =>
      namesIn(path).every(
        (turn) => !isThere(readIfThere(join(path, turn)) ?? '')
      )
    );
}

/** Nothing of a folder that is a link. */
function oldNamesIn(directory: string, now: number): string[] {
  if (!isOurs(directory)) return [];
  return namesIn(directory).filter((name) => {
    const file = lstatSync(join(directory, name), { throwIfNoEntry: false });
    return file && Math.abs(now - file.mtimeMs) > youngMs;
  });
}
