import { createHash } from 'node:crypto';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Exchange, Usage } from '../../../plugin/plugin.ts';
import {
  createOnce,
  readIfExists,
  replaceFile
} from '../../state/files/atomic-file.ts';
import { ensureDirectory } from '../../state/files/directories.ts';
import type { RunReader } from '../ports.ts';
import type { Outcome, RunRecord } from '../run.ts';
import { ownFile } from '../run-files.ts';
import type { RunStore } from '../run-store.ts';

/** A reserved turn expires if its agent has not appeared within this time. */
const pendingMs = 10_000;

/**
 * Reserves the next turn of an engine session for an agent. A turn is a file
 * `sessions/<hash>/<number>` in the record that contains the agent's id. It is
 * created exclusively, so two servers can never continue one session at once,
 * and no lock is left behind by a crash.
 *
 * @returns false while an earlier turn has not ended
 */
export async function reserveTurn(
  engine: string,
  sessionId: string,
  agentId: string,
  store: RunStore,
  tracker: RunReader
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
 * Takes the next turn of a session for an agent that waits for the earlier
 * ones.
 * @returns the agents whose earlier turns have not ended
 */
export function queueTurn(
  engine: string,
  sessionId: string,
  agentId: string,
  store: RunStore
): string[] {
  const directory = turnsDirectory(engine, sessionId, store);
  ensureDirectory(directory);
  for (;;) {
    const last = turnsIn(directory).at(-1) ?? 0;
    if (createOnce(join(directory, String(last + 1)), agentId))
      return openHolders(engine, sessionId, last, store);
  }
}

/** Releases the turn of an agent that was never created. */
export function releaseTurn(
  engine: string,
  sessionId: string,
  agentId: string,
  store: RunStore
): void {
  const directory = turnsDirectory(engine, sessionId, store);
  for (const turn of turnsIn(directory)) {
    const path = join(directory, String(turn));
    // The number stays used, because other agents may have counted it.
    if (readIfExists(path) === agentId) replaceFile(path, '');
  }
}

/** Records the first agent of a session, because later ones cannot know it. */
export function recordFirstTurn(
  { agent_id, engine, continues, session_id: requested }: RunRecord,
  { session_id }: Outcome,
  store: RunStore
): void {
  if (session_id === null || continues !== null || requested !== null) return;
  const directory = turnsDirectory(engine, session_id, store);
  ensureDirectory(directory);
  createOnce(join(directory, '0'), agent_id);
}

/**
 * The usage of the whole session, as counted by the engine, when an agent's
 * turn began. The turn right before may be of another agent than the one that
 * it continues.
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

/**
 * The earlier turns of an API agent's session, read from disk because a
 * provider stores nothing. Turns without a complete answer are left out. The
 * session is named after its first agent.
 */
export function turnsBefore(
  { agent_id, engine, session_id, continues }: RunRecord,
  store: RunStore
): Exchange[] {
  if (session_id === null || continues === null) return [];
  const agents = [session_id, ...holdersOf(engine, session_id, store)];
  const own = agents.indexOf(agent_id);
  return agents.slice(0, own < 0 ? undefined : own).flatMap((id) => {
    const outcome = store.outcomeOf(id);
    if (outcome?.status !== 'completed') return [];
    const directory = store.directoryOf(id);
    const [prompt, answer] = ['prompt.txt', outcome.result_file].map((name) => {
      const path = ownFile(directory, name);
      return path === undefined ? undefined : readIfExists(path);
    });
    return prompt && answer ? [{ prompt, answer }] : [];
  });
}

/** The agents that have continued a session, in order. */
export function holdersOf(
  engine: string,
  sessionId: string,
  store: RunStore
): string[] {
  const directory = turnsDirectory(engine, sessionId, store);
  return turnsIn(directory)
    .map((turn) => holderIn(directory, turn))
    .filter((holder) => holder !== '');
}

/** True while an agent of a session is at work, queued or being spawned. */
export function hasOpenTurn(directory: string, store: RunStore): boolean {
  return turnsIn(directory).some((turn) => {
    const holder = holderIn(directory, turn);
    if (holder === '' || store.outcomeOf(holder)) return false;
    return isExpected(holder, join(directory, String(turn)), store);
  });
}

/** True while the folder of any agent of a session exists. */
export function hasTurnLeft(directory: string, store: RunStore): boolean {
  return turnsIn(directory).some((turn) =>
    store.has(holderIn(directory, turn))
  );
}

/** The agent of a turn; empty for a turn that was released. */
function holderIn(directory: string, turn: number): string {
  return readIfExists(join(directory, String(turn))) ?? '';
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
 * The agents up to turn `last` without a recorded end, newest first. The search
 * stops at an ended agent that had started, because it started after all
 * earlier turns had ended. An agent that ended in the queue proves nothing. A
 * session that is named after its first agent begins with that agent, which has
 * no turn file.
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
    const holder = holderIn(directory, turn);
    if (holder === '') continue;
    const outcome = store.outcomeOf(holder);
    if (outcome?.started_at) return open;
    const path = join(directory, String(turn));
    if (!outcome && isExpected(holder, path, store)) open.push(holder);
  }
  const isFirst = store.recordOf(sessionId)?.engine === engine;
  if (isFirst && !store.outcomeOf(sessionId)) open.push(sessionId);
  return open;
}

/** True for an agent that exists or is about to, and was not cleaned away. */
function isExpected(holder: string, turn: string, store: RunStore): boolean {
  return (
    store.has(holder) || (isAnnounced(turn) && !store.sizes.goneAt(holder))
  );
}

function isAnnounced(turn: string): boolean {
  const file = statSync(turn, { throwIfNoEntry: false });
  return file !== undefined && Math.abs(Date.now() - file.mtimeMs) < pendingMs;
}

/** The folder of a session's turns, which need not exist. */
export function turnsDirectory(
  engine: string,
  sessionId: string,
  store: RunStore
): string {
  const hash = createHash('sha256').update(`${engine}\n${sessionId}`);
  return join(store.root, 'sessions', hash.digest('hex').slice(0, 32));
}
