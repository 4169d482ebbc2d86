import { statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { errnoOf } from '../errors.ts';
import type { Processes } from '../runs/ports.ts';
import type { ProcessIdentity } from '../runs/run.ts';
import { exitedAt } from '../runs/run-files.ts';
import { readIfThere, remove, writeNew } from '../state/atomic-file.ts';
import { parseIdentity } from '../state/process-identity.ts';
import { changesOf } from './change-file.ts';

/** Who looks later than this after an end says so. */
const lateMs = 5000;
/** Longer than a look may take. */
const patienceMs = 6000;

/**
 * Says that this process looks at what an agent changed, so that others need
 * not do the same work. False when somebody else said so. Nothing depends on
 * it: who waits in vain looks himself.
 */
export function beginLook(directory: string, self: ProcessIdentity): boolean {
  try {
    writeNew(pathIn(directory), JSON.stringify(self));
    return true;
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return false;
    throw error;
  }
}

export function endLook(directory: string): void {
  remove(pathIn(directory));
}

/** Until they are done, or gone, or too slow. */
export async function awaitOthers(
  directory: string,
  processes: Processes
): Promise<void> {
  const looking = () =>
    !changesOf(directory) && isHeld(directory, processes.liveness);
  while (looking()) await delay(20);
}

/** What to say when the files are looked at long after the end. */
export function lateness(directory: string): string | undefined {
  const ended = exitedAt(directory);
  if (!ended)
    return 'When the agent ended is not known: what changed later counts too.';
  const lateByMs = Date.now() - ended.getTime();
  return lateByMs < lateMs
    ? undefined
    : `The files were looked at ${Math.round(lateByMs / 1000)} s after the end: what changed until then counts too.`;
}

function isHeld(directory: string, liveness: Processes['liveness']): boolean {
  const path = pathIn(directory);
  const since = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
  if (since === undefined) return false;
  if (Math.abs(Date.now() - since) > patienceMs) return false;
  // Undefined while it is being written.
  const holder = parseIdentity(readIfThere(path) ?? '');
  return holder === undefined || liveness(holder) !== 'dead';
}

function pathIn(directory: string): string {
  return join(directory, 'looking');
}
