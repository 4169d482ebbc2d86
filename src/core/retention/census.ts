import { existsSync, lstatSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as breathe } from 'node:timers/promises';
import { SummonMarks } from '../council/summon-marks.ts';
import { wasRead } from '../runs/read-mark.ts';
import type { Outcome, RunRecord } from '../runs/run.ts';
import type { RunStore } from '../runs/run-store.ts';
import { turnsDirectory } from '../runs/session-turns.ts';
import { SquadStore } from '../squads/squad-store.ts';
import { bytesBelow } from '../state/bytes-below.ts';
import { namesIn } from '../state/directories.ts';
import type { Hold, Resident } from './resident.ts';

/** A folder, and what is written in it. */
interface Found {
  agentId: string;
  directory: string;
  record: RunRecord | undefined;
  outcome: Outcome | undefined;
  /** Its end is recorded, and in the journal. */
  isOver: boolean;
  isForeign: boolean;
}

/** What is held, why, and what that is about. */
type Reason = [hold: Hold, because: string | undefined];

/** A squad whose start may still be under way. */
const youngMs = 60_000;

/** Every agent's folder, how it stands, and whether something holds it. */
export async function takeCensus(
  store: RunStore,
  now = Date.now()
): Promise<Resident[]> {
  const ids = namesIn(join(store.root, 'spawns')).filter((name) =>
    /^[0-9a-f]{8}$/.test(name)
  );
  const found = await inTurns(ids, (agentId) => look(agentId, store));
  const reasonOf = reasons(found, store, now);
  return inTurns(found, (one) => {
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

/** So many folders are looked at before a server answers in between. */
const batch = 50;

async function inTurns<From, To>(
  all: From[],
  work: (one: From) => To
): Promise<To[]> {
  const done: To[] = [];
  for (const one of all) {
    if (done.length % batch === 0) await breathe();
    done.push(work(one));
  }
  return done;
}

/** A real directory of this account: no link, nobody else's. */
export function isOurs(path: string): boolean {
  const file = lstatSync(path, { throwIfNoEntry: false });
  const own = process.getuid?.();
  return (
    file?.isDirectory() === true && (own === undefined || file.uid === own)
  );
}

function look(agentId: string, store: RunStore): Found {
  const directory = store.directoryOf(agentId);
  const nothing = { record: undefined, outcome: undefined, isOver: false };
  const foreign = { agentId, directory, ...nothing, isForeign: true };
  if (!isOurs(directory)) return foreign;
  try {
    const record = store.recordOf(agentId);
    // Before the outcome: the mark goes when that is there and journalled.
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
  const goingOn = new Map<string, string>();
  for (const one of open)
    for (const key of [one.record?.continues, ...sessionsOf(one, store)])
      if (key) goingOn.set(key, one.agentId);
  const busySquads = new Map<string, boolean>();
  const isBusy = (squadId: string) => {
    const known = busySquads.get(squadId);
    if (known !== undefined) return known;
    const busy = isAtWork(squadId, open, store, now);
    busySquads.set(squadId, busy);
    return busy;
  };
  return (one) => {
    const { agentId, record, isOver, isForeign, directory } = one;
    if (isForeign) return ['foreign', directory];
    if (!isOver) return ['at_work', undefined];
    if (summoned.has(agentId)) return ['summons', undefined];
    const squadId = record?.squad?.squadId;
    if (squadId && isBusy(squadId)) return ['squad', squadId];
    const next = [agentId, ...sessionsOf(one, store)].find((key) =>
      goingOn.has(key)
    );
    if (next) return ['session', goingOn.get(next)];
    const tree = record?.worktree?.path;
    if (tree && existsSync(tree)) return ['worktree', tree];
    return wasRead(directory) ? undefined : ['unread', undefined];
  };
}

/** True while a member of a squad has not ended, or may not be there yet. */
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

/** The folders of their turns: a name for each session of each engine. */
function sessionsOf({ record, outcome }: Found, store: RunStore): string[] {
  if (!record) return [];
  const { engine, session_id, new_session_id } = record;
  const ids = [outcome?.session_id, session_id, new_session_id];
  return [...new Set(ids)].flatMap((id) =>
    id ? turnsDirectory(engine, id, store) : []
  );
}
