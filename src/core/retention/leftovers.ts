import { lstatSync } from 'node:fs';
import { basename, join } from 'node:path';
import { isAgentId } from '../runs/run.ts';
import type { RunStore } from '../runs/run-store.ts';
import { hasOpenTurn } from '../runs/sessions/session-turns.ts';
import { SquadStore } from '../squads/squad-store.ts';
import {
  leftoversIn,
  readIfExists,
  removeLeftovers
} from '../state/files/atomic-file.ts';
import { isOwnDirectory, namesIn } from '../state/files/directories.ts';
import type { Resident } from './select.ts';
import type { Trash } from './trash.ts';

/** A younger file may belong to a run or squad that is being created. */
const youngMs = 60_000;

/** Files that no stored agent needs any more. */
export interface Leftovers {
  /** Ids of squads of which no member has a folder. */
  squads: string[];
  /** Folders with turns of sessions that no agent can continue. */
  sessions: string[];
  /** Ids in open marks for which there is no agent. */
  marks: string[];
  /** The number of incomplete folders of agents. */
  drafts: number;
}

/**
 * @param residents agents whose sessions stay
 * @param exists whether an agent exists, or would exist after a clean
 */
export function findLeftovers(
  store: RunStore,
  residents: Resident[],
  exists: (agentId: string) => boolean,
  now = Date.now()
): Leftovers {
  const within = (name: string) => oldNamesIn(join(store.root, name), now);
  return {
    squads: within('squads').flatMap((name) => {
      const id = basename(name, '.json');
      const squad = new SquadStore(store.root).find(id);
      const isGone = squad?.members.every(({ agentId }) => !exists(agentId));
      return isGone && name.endsWith('.json') ? [id] : [];
    }),
    sessions: unreachable(within('sessions'), store, residents, exists),
    marks: within('open').filter((id) => isAgentId(id) && !store.has(id)),
    drafts: isOwnDirectory(store.drafts)
      ? leftoversIn(store.drafts, now).length
      : 0
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
    // An agent may have reserved a turn in this session since the check.
    if (hasOpenTurn(trash.pathOf(name), store)) trash.putBack(path, name);
    else trash.empty(name);
  }
  for (const id of marks) store.giveUp(id);
  if (isOwnDirectory(store.drafts)) removeLeftovers(store.drafts);
}

function unreachable(
  names: string[],
  store: RunStore,
  residents: Resident[],
  exists: (agentId: string) => boolean
): string[] {
  const reachable = new Set(residents.flatMap(({ sessions }) => sessions));
  return names
    .filter((name) => /^[0-9a-f]{32}$/.test(name))
    .map((name) => join(store.root, 'sessions', name))
    .filter((path) => !reachable.has(path) && isOwnDirectory(path))
    .filter((path) =>
      namesIn(path).every(
        (turn) => !exists(readIfExists(join(path, turn)) ?? '')
      )
    );
}

/** Names of files older than `youngMs`; none if the folder is a link. */
function oldNamesIn(directory: string, now: number): string[] {
  if (!isOwnDirectory(directory)) return [];
  return namesIn(directory).filter((name) => {
    const file = lstatSync(join(directory, name), { throwIfNoEntry: false });
    return file && Math.abs(now - file.mtimeMs) > youngMs;
  });
}
