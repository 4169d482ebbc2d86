import { createHash } from 'node:crypto';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Usage } from '../../plugin.ts';
import {
  createOnce,
  readIfThere,
  replaceFile,
  syncDirectory
} from '../state/atomic-file.ts';
import { ensureDirectory } from '../state/directories.ts';
import type { Outcome, RunRecord } from './run.ts';
import type { RunStore } from './run-store.ts';
import type { RunTracker } from './run-tracker.ts';

/** A reserved turn whose agent has not appeared for this long is given up. */
const pendingMs = 10_000;

/**
 * Reserves the next turn of an engine session for an agent. Turns are files
 * `sessions/<hash>/<number>` in the record that name their agent and are created
 * exclusively: two servers can never continue one session at once, and
 * nothing has to be unlocked after a crash.
 *
 * @returns false while a turn before is not over
 */
export async function reserveTurn(
  engine: string,
  sessionId: string,
  agentId: string,
  store: RunStore,
  tracker: RunTracker
): Promise<boolean> {
  const directory = turnsDirectory(engine, sessionId, store);
  ensureDirectory(directory);
  const last = turnsIn(directory).at(-1) ?? 0;
  for (const holder of openHolders(engine, sessionId, last, store)) {
    const run = await tracker.run(holder);
    if (!run?.outcome) return false;
  }
  return createOnce(join(directory, String(last + 1)), agentId);
}

/**
 * Takes the next turn of a session for an agent that will wait for its time.
 * @returns the agents whose turns before are not over
 */
export function lineUp(
  engine: string,
  sessionId: string,
  agentId: string,
  store: RunStore
): string[] {
  const directory = turnsDirectory(engine, sessionId, store);
  ensureDirectory(directory);
  for (;;) {
    const last = turnsIn(directory).at(-1) ?? 0;
    if (!createOnce(join(directory, String(last + 1)), agentId)) continue;
    syncDirectory(directory);
    return openHolders(engine, sessionId, last, store);
  }
}

/** Leaves the turn of an agent that will never be there to nobody. */
export function leaveLine(
  engine: string,
  sessionId: string,
  agentId: string,
  store: RunStore
): void {
  const directory = turnsDirectory(engine, sessionId, store);
  for (const turn of turnsIn(directory)) {
    const path = join(directory, String(turn));
    // Its number stays used: others have counted it.
    if (readIfThere(path) === agentId) replaceFile(path, '');
  }
}

/** Notes who began a session, which its second agent cannot know. */
export function noteFirstTurn(
  { agent_id, engine, continues, session_id: given }: RunRecord,
  { session_id }: Outcome,
  store: RunStore
): void {
  if (session_id === null || continues !== null || given !== null) return;
  const directory = turnsDirectory(engine, session_id, store);
  ensureDirectory(directory);
  createOnce(join(directory, '0'), agent_id);
}

/**
 * What the engine had counted for the whole session when an agent's turn
 * began. The agent it was asked to continue need not be the last before it.
 */
export function usageBefore(
  { agent_id, engine, session_id, continues }: RunRecord,
  store: RunStore
): Usage | undefined {
  if (session_id === null) return undefined;
  const holders = holdersOf(engine, session_id, store);
  const own = holders.indexOf(agent_id);
  const earlier = own < 0 ? [] : holders.slice(0, own);
  for (const holder of [...earlier.reverse(), continues ?? '']) {
    const usage = store.outcomeOf(holder)?.session_usage;
    if (usage) return usage;
  }
  return undefined;
}

/** The agents that have continued a session, in order. */
export function holdersOf(
  engine: string,
  sessionId: string,
  store: RunStore
): string[] {
  const directory = turnsDirectory(engine, sessionId, store);
  return turnsIn(directory)
    .map((turn) => readIfThere(join(directory, String(turn))) ?? '')
    .filter((holder) => holder !== '');
}

/** True while a turn of a session is at work, in line or being spawned. */
export function hasOpenTurn(directory: string, store: RunStore): boolean {
  return turnsIn(directory).some((turn) => {
    const path = join(directory, String(turn));
    const holder = readIfThere(path);
    if (!holder || store.outcomeOf(holder)) return false;
    return isThere(holder, path, store);
  });
}

/** True while an agent is there that has a turn of a session. */
export function hasTurnLeft(directory: string, store: RunStore): boolean {
  return turnsIn(directory).some((turn) =>
    store.has(readIfThere(join(directory, String(turn))) ?? '')
  );
}

/** Numbers of the turns so far, in order. */
function turnsIn(directory: string): number[] {
  if (!existsSync(directory)) return [];
  return readdirSync(directory)
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .sort((a, b) => a - b);
}

/**
 * Those up to a turn that have no recorded end, newest first. Who has had its
 * turn came after all before it; who ended in line did not. A session that is
 * named after its first agent begins with that, which stands in no line.
 */
function openHolders(
  engine: string,
  sessionId: string,
  last: number,
  store: RunStore
): string[] {
  const directory = turnsDirectory(engine, sessionId, store);
  const open: string[] = [];
  for (const turn of turnsIn(directory).reverse()) {
    if (turn > last) continue;
    const path = join(directory, String(turn));
    const holder = readIfThere(path);
    if (!holder) continue;
    const outcome = store.outcomeOf(holder);
    if (outcome?.started_at) return open;
    if (!outcome && isThere(holder, path, store)) open.push(holder);
  }
  const isFirst = store.recordOf(sessionId)?.engine === engine;
  if (isFirst && !store.outcomeOf(sessionId)) open.push(sessionId);
  return open;
}

/** It is there, or about to be; one that was cleaned away was. */
function isThere(holder: string, turn: string, store: RunStore): boolean {
  return (
    store.has(holder) || (isAnnounced(turn) && !store.sizes.goneAt(holder))
  );
}

function isAnnounced(turn: string): boolean {
  const file = statSync(turn, { throwIfNoEntry: false });
  return file !== undefined && Math.abs(Date.now() - file.mtimeMs) < pendingMs;
}

/** The folder of a session's turns, whether it is there or not. */
export function turnsDirectory(
  engine: string,
  sessionId: string,
  store: RunStore
): string {
  return join(store.root, 'sessions', hash(engine, sessionId));
}

function hash(engine: string, sessionId: string): string {
  return createHash('sha256')
    .update(`${engine}\n${sessionId}`)
    .digest('hex')
    .slice(0, 32);
}
