import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { errnoOf } from '../errors.ts';
import { readIfThere, remove, replaceFile } from '../state/atomic-file.ts';
import { ensureDirectory } from '../state/directories.ts';
import type { Witnesses } from '../state/file-lock.ts';
import { parseIdentity } from './records.ts';
import type { WorkerFolder } from './worker-folder.ts';

/**
 * Says that this process serves a worker. Programs may have several servers
 * at once, so each says it for itself.
 * @returns takes it back
 */
export function markServer(
  folder: WorkerFolder,
  witnesses: Witnesses
): () => void {
  ensureDirectory(folder.servers);
  for (const { path, isAlive } of marksIn(folder, witnesses))
    if (!isAlive) remove(path);
  const path = join(folder.servers, String(witnesses.self.pid));
  replaceFile(path, JSON.stringify(witnesses.self));
  return () => remove(path);
}

/**
 * True when a worker's server was killed and it has no other: one that ends
 * by itself, as its program wants it, leaves no mark.
 */
export function hasLostServer(
  folder: WorkerFolder,
  witnesses: Witnesses
): boolean {
  const marks = marksIn(folder, witnesses);
  return marks.length > 0 && marks.every(({ isAlive }) => !isAlive);
}

function marksIn({ servers }: WorkerFolder, witnesses: Witnesses) {
  return namesIn(servers).flatMap((name) => {
    const path = join(servers, name);
    const text = readIfThere(path);
    const identity = text === undefined ? undefined : parseIdentity(text);
    if (!identity) return [];
    return [{ path, isAlive: witnesses.liveness(identity) !== 'dead' }];
  });
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory).filter((name) => /^\d+$/.test(name));
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return [];
    throw error;
  }
}
