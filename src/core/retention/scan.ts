import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as yieldTurn } from 'node:timers/promises';
import { SummonMarks } from '../council/summon-marks.ts';
import { isAgentId, type Outcome, type RunRecord } from '../runs/run.ts';
import { exitedAt, wasRead } from '../runs/run-files.ts';
import type { RunStore } from '../runs/run-store.ts';
import { turnsDirectory } from '../runs/sessions/session-turns.ts';
import { SquadStore } from '../squads/squad-store.ts';
import {
  bytesBelow,
  isOwnDirectory,
  namesIn
} from '../state/files/directories.ts';
import type { Hold, Resident } from './select.ts';

/** An agent's folder and its contents. */
interface Found {
  agentId: string;
  directory: string;
  record: RunRecord | undefined;
  outcome: Outcome | undefined;
  /** Whether its end is recorded, and in the journal. */
  isOver: boolean;
  isForeign: boolean;
}

/** Why an agent stays, and the path or id that this refers to. */
type Reason = [hold: Hold, because: string | undefined];

/** A younger squad may still be starting; a younger exit, be processed. */
const youngMs = 60_000;

/** Lists every agent's folder with its state and its hold. */
export async function scanRecord(
  store: RunStore,
  now = Date.now()
): Promise<Resident[]> {
  const ids = namesIn(join(store.root, 'spawns')).filter(isAgentId);
  const found = await inBatches(ids, (agentId) => read(agentId, store));
  const reasonOf = reasons(found, store, now);
  return inBatches(found, (one) => {
    const { record, outcome } = one;
    const [hold, because] = reasonOf(one) ?? [];
    const ended = Date.parse(outcome?.completed_at ?? '');
    return {
      agentId: one.agentId,
      endedMs: outcome && (Number.isNaN(ended) ? now : Math.min(ended, now)),
      completedAt: outcome?.completed_at,
      engine: record?.engine ?? '?',
      task: record?.task ?? '',
      bytes: one.isForeign ? 0 : bytesBelow(one.directory),
      isRead: wasRead(one.directory),
      sessions: sessionsOf(one, store),
      isChained: record?.kind === 'api',
      hold,
      because
    };
  });
}

/** A server answers requests after each batch of folders. */
const batch = 50;

async function inBatches<From, To>(
  all: From[],
  work: (one: From) => To
): Promise<To[]> {
  const done: To[] = [];
  for (const one of all) {
    if (done.length % batch === 0) await yieldTurn();
    done.push(work(one));
  }
  return done;
}

function read(agentId: string, store: RunStore): Found {
  const directory = store.directoryOf(agentId);
  const nothing = { record: undefined, outcome: undefined, isOver: false };
  const foreign = { agentId, directory, ...nothing, isForeign: true };
  if (!isOwnDirectory(directory)) return foreign;
  try {
    const record = store.recordOf(agentId);
    // Read first: the mark is removed after the outcome was journalled.
    const isOpen = store.isOpen(agentId);
    const outcome = store.outcomeOf(agentId);
    if (record?.agent_id !== agentId) return foreign;
    const isOver = outcome !== undefined && !isOpen;
    return { agentId, directory, record, outcome, isOver, isForeign: false };
  } catch {
    return foreign;
  }
}

function reasons(
  found: Found[],
  store: RunStore,
  now: number
): (one: Found) => Reason | undefined {
  const summoned = new Set(
    new SummonMarks(store.root).all().map(({ agent_id }) => agent_id)
  );
  const open = found.filter(({ isOver, isForeign }) => !isOver && !isForeign);
  const continuedBy = new Map<string, string>();
  for (const one of open)
    for (const key of [one.record?.continues, ...sessionsOf(one, store)])
      if (key) continuedBy.set(key, one.agentId);
  const squads = new Set(found.map(({ record }) => record?.squad?.squadId));
  const busySquads = new Set(
    [...squads].filter((id) => id && isAtWork(id, open, store, now))
  );
  return (one) => {
    const { agentId, record, isOver, isForeign, directory } = one;
    if (isForeign) return ['foreign', directory];
    if (!isOver)
      return [isUnjudged(one, now) ? 'unread' : 'at_work', undefined];
    if (summoned.has(agentId)) return ['summons', undefined];
    const squadId = record?.squad?.squadId;
    if (squadId && busySquads.has(squadId)) return ['squad', squadId];
    const next = [agentId, ...sessionsOf(one, store)].find((key) =>
      continuedBy.has(key)
    );
    if (next) return ['session', continuedBy.get(next)];
    const tree = record?.worktree?.path;
    if (tree && existsSync(tree)) return ['worktree', tree];
    return wasRead(directory) ? undefined : ['unread', undefined];
  };
}

/** Whether it exited long ago, and no server had the engine for its output. */
function isUnjudged({ outcome, directory }: Found, now: number): boolean {
  const exited = outcome ? undefined : exitedAt(directory);
  return exited !== undefined && Math.abs(now - exited.getTime()) > youngMs;
}

/** Whether a member of a squad has not ended, or may not be stored yet. */
function isAtWork(
  squadId: string,
  open: Found[],
  store: RunStore,
  now: number
): boolean {
  if (open.some(({ record }) => record?.squad?.squadId === squadId))
    return true;
  const squad = new SquadStore(store.root).find(squadId);
  if (!squad) return false;
  const isYoung = Math.abs(now - Date.parse(squad.created_at)) < youngMs;
  return isYoung && squad.members.some(({ agentId }) => !store.has(agentId));
}

/** The folders with the turns of its sessions, one for each session. */
function sessionsOf({ record, outcome }: Found, store: RunStore): string[] {
  if (!record) return [];
  const { engine, session_id, new_session_id } = record;
  const ids = [outcome?.session_id, session_id, new_session_id];
  return [...new Set(ids)].flatMap((id) =>
    id ? turnsDirectory(engine, id, store) : []
  );
}
