import { join } from 'node:path';
import { readIfThere, remove } from './atomic-file.ts';
import { ensureDirectory, namesIn } from './directories.ts';
import type { Witnesses } from './file-lock.ts';
import { fillIn } from './own-file.ts';
import { parseIdentity } from './process-identity.ts';

/**
 * Says in a directory that this process is at work there. Each process has a
 * file of its own; files of processes that are gone are removed.
 * @returns takes it back
 */
export function markProcess(
  directory: string,
  witnesses: Witnesses
): () => void {
  ensureDirectory(directory);
  for (const { path, isAlive } of processMarks(directory, witnesses))
    if (!isAlive) remove(path);
  const path = join(directory, String(witnesses.self.pid));
  fillIn(path, JSON.stringify(witnesses.self));
  return () => remove(path);
}

/** Processes that are at work there, or were when they were killed. */
export function processMarks(
  directory: string,
  witnesses: Pick<Witnesses, 'liveness'>
): { path: string; isAlive: boolean }[] {
  return namesIn(directory).flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    const path = join(directory, name);
    const identity = parseIdentity(readIfThere(path) ?? '');
    if (!identity) return [];
    return [{ path, isAlive: witnesses.liveness(identity) !== 'dead' }];
  });
}
