import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { errnoOf } from '../../errors.ts';
import { fileIn } from '../../paths/paths.ts';
import { writeNew } from '../../state/files/atomic-file.ts';

/**
 * Two files in an agent's folder. With `waking`, a process waits for its end, to
 * wake the session that started it; the one that creates `woken` does so.
 */
const waiting = 'waking';
const done = 'woken';

/** Records that this process, among others, waits to report an end. */
export function registerWake(directory: string): void {
  created(directory, waiting);
}

/** Whether a process waits to report an end that was not reported yet. */
export function isWakeRegistered(directory: string): boolean {
  const has = (name: string) => existsSync(fileIn(directory, name));
  return has(waiting) && !has(done);
}

/** True for the one process that may report the end. */
export function claimWake(directory: string): boolean {
  return created(directory, done);
}

/** False if the file exists, or the agent's folder was removed. */
function created(directory: string, name: string): boolean {
  try {
    writeNew(join(directory, name), '');
    return true;
  } catch (error) {
    if (['EEXIST', 'ENOENT'].includes(errnoOf(error) ?? '')) return false;
    throw error;
  }
}
