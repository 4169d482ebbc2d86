import { existsSync, statSync } from 'node:fs';
import { livingPrograms } from '../orchestrator/process/lost-workers.ts';
import {
  WorkerFolder,
  type WorkerPaths
} from '../orchestrator/queue/worker-folder.ts';
import { WorkerStore } from '../orchestrator/queue/worker-store.ts';
import { bytesBelow, isOwnDirectory } from '../state/files/directories.ts';
import type { LivenessCheck } from '../state/locks/file-lock.ts';
import type { Trash } from './trash.ts';

/** A younger folder may belong to a worker that is being created. */
const youngMs = 60_000;

/** A worker without a running program that will not be restarted. */
export interface EndedWorker {
  agentId: string;
  name: string;
  engine: string;
  bytes: number;
  /** When its last event was written. */
  endedMs: number;
}

export function endedWorkers(
  workers: WorkerPaths,
  processes: LivenessCheck
): EndedWorker[] {
  const store = new WorkerStore(workers, processes);
  try {
    return store.all().flatMap(({ meta, folder, log }) => {
      const folders = [folder.public, folder.private];
      const isOver = log.read().isOver && !existsSync(folder.request);
      if (!isOver || !isOwnDirectory(folder.private)) return [];
      const outbox = statSync(folder.outbox, { throwIfNoEntry: false });
      const { agent_id: agentId, name, engine } = meta;
      const bytes = folders.reduce((sum, path) => sum + bytesBelow(path), 0);
      return [{ agentId, name, engine, bytes, endedMs: outbox?.mtimeMs ?? 0 }];
    });
  } finally {
    store.close();
  }
}

/** Moves the public folder first: a clean finds it only by the record. */
export function removeWorker(
  agentId: string,
  workers: WorkerPaths,
  trash: Trash
): void {
  const folder = new WorkerFolder(workers, agentId);
  trash.take(folder.public, `worker-${agentId}`);
  trash.take(folder.private, `private-${agentId}`);
  // A server may have restored the public folder meanwhile.
  trash.take(folder.public, `again-${agentId}`);
  for (const name of ['worker', 'private', 'again'])
    trash.empty(`${name}-${agentId}`);
}

/** Removes workers with a damaged record of which no program runs. */
export function removeHalves(
  workers: WorkerPaths,
  trash: Trash,
  processes: LivenessCheck,
  now = Date.now()
): void {
  const store = new WorkerStore(workers, processes);
  for (const agentId of store.ids()) {
    const folder = store.folderOf(agentId);
    const file = statSync(folder.private, { throwIfNoEntry: false });
    const isOld = file && Math.abs(now - file.mtimeMs) > youngMs;
    if (!isOld || !isOwnDirectory(folder.private) || !store.isGone(agentId))
      continue;
    if (livingPrograms(folder, processes).length > 0) continue;
    removeWorker(agentId, workers, trash);
  }
}
