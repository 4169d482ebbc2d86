import { existsSync, statSync } from 'node:fs';
import {
  WorkerFolder,
  type WorkerPlaces,
  workersIn
} from '../orchestrator/worker-folder.ts';
import { WorkerStore } from '../orchestrator/worker-store.ts';
import { bytesBelow } from '../state/bytes-below.ts';
import { namesIn } from '../state/directories.ts';
import type { Witnesses } from '../state/file-lock.ts';
import { isOurs } from './census.ts';
import type { Trash } from './trash.ts';

/** What is younger may be a worker that is being made. */
const youngMs = 60_000;

/** A worker that is over: nothing of it runs, and nothing starts it again. */
export interface EndedWorker {
  agentId: string;
  name: string;
  engine: string;
  bytes: number;
  /** When its last event was written. */
  endedMs: number;
}

export function endedWorkers(
  workers: WorkerPlaces,
  witnesses: Witnesses
): EndedWorker[] {
  const store = new WorkerStore(workers, witnesses);
  try {
    return store.all().flatMap(({ meta, folder, log }) => {
      const places = [folder.public, folder.private];
      const isOver = log.read().isOver && !existsSync(folder.request);
      if (!isOver || !isOurs(folder.public)) return [];
      const outbox = statSync(folder.outbox, { throwIfNoEntry: false });
      const { agent_id: agentId, name, engine } = meta;
      const bytes = places.reduce((sum, path) => sum + bytesBelow(path), 0);
      return [{ agentId, name, engine, bytes, endedMs: outbox?.mtimeMs ?? 0 }];
    });
  } finally {
    store.close();
  }
}

/** Its public folder first: without it there is no worker. */
export function removeWorker(
  agentId: string,
  workers: WorkerPlaces,
  trash: Trash
): void {
  const folder = new WorkerFolder(workers, agentId);
  trash.take(folder.public, `worker-${agentId}`);
  trash.take(folder.private, `private-${agentId}`);
  for (const name of [`worker-${agentId}`, `private-${agentId}`])
    trash.empty(name);
}

/** Removes private halves of workers whose removal was cut short. */
export function removeHalves(
  workers: WorkerPlaces,
  trash: Trash,
  now = Date.now()
): void {
  for (const agentId of namesIn(workersIn(workers))) {
    if (!/^[0-9a-f]{8}$/.test(agentId)) continue;
    const folder = new WorkerFolder(workers, agentId);
    const file = statSync(folder.private, { throwIfNoEntry: false });
    const isOld = file && Math.abs(now - file.mtimeMs) > youngMs;
    if (isOld && isOurs(folder.private) && !existsSync(folder.public))
      removeWorker(agentId, workers, trash);
  }
}
