import { createHash } from 'node:crypto';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createOnce, readIfThere } from '../state/atomic-file.ts';
import { ensureDirectory } from '../state/directories.ts';
import type { RunStore } from './run-store.ts';
import type { RunTracker } from './run-tracker.ts';

/** A reserved turn whose agent has not appeared for this long is given up. */
const pendingMs = 10_000;

/**
 * Reserves the next turn of an engine session for an agent. Turns are files
 * `.agents/sessions/<hash>/<number>` that name their agent and are created
 * exclusively: two servers can never continue one session at once, and
 * nothing has to be unlocked after a crash.
 *
 * @returns false while the turn before is not over
 */
export async function reserveTurn(
  engine: string,
  sessionId: string,
  agentId: string,
  store: RunStore,
  tracker: RunTracker
): Promise<boolean> {
  const directory = join(store.root, 'sessions', hash(engine, sessionId));
  ensureDirectory(directory);
  const last = Math.max(
    0,
    ...readdirSync(directory)
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
  );
  const before = last === 0 ? undefined : join(directory, String(last));
  if (before && (await isBusy(before, store, tracker))) return false;
  return createOnce(join(directory, String(last + 1)), agentId);
}

async function isBusy(
  turn: string,
  store: RunStore,
  tracker: RunTracker
): Promise<boolean> {
  const holder = readIfThere(turn) ?? '';
  if (store.has(holder)) return !(await tracker.run(holder))?.outcome;
  const { mtimeMs } = statSync(turn);
  return Math.abs(Date.now() - mtimeMs) < pendingMs;
}

function hash(engine: string, sessionId: string): string {
  return createHash('sha256')
    .update(`${engine}\n${sessionId}`)
    .digest('hex')
    .slice(0, 32);
}
