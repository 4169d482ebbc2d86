import { join } from 'node:path';
import { parseIdentity } from '../../processes/process-identity.ts';
import { readIfExists, remove } from '../files/atomic-file.ts';
import { ensureDirectory, namesIn } from '../files/directories.ts';
import { overwriteFile } from '../files/own-file.ts';
import type { LivenessCheck } from './file-lock.ts';

/**
 * Writes a file that marks this process as active in a directory. Each process
 * has its own file; the files of dead processes are removed.
 * @returns a function that removes the file
 */
export function markProcess(
  directory: string,
  processes: LivenessCheck
): () => void {
  ensureDirectory(directory);
  for (const { path, isAlive } of processMarks(directory, processes))
    if (!isAlive) remove(path);
  const path = join(directory, String(processes.self.pid));
  overwriteFile(path, JSON.stringify(processes.self));
  return () => remove(path);
}

/** The marks of active processes, and those that killed processes left. */
export function processMarks(
  directory: string,
  processes: Pick<LivenessCheck, 'liveness'>
): { path: string; isAlive: boolean }[] {
  return namesIn(directory).flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    const path = join(directory, name);
    const identity = parseIdentity(readIfExists(path) ?? '');
    if (!identity) return [];
    return [{ path, isAlive: processes.liveness(identity) !== 'dead' }];
  });
}
