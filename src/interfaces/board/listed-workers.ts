import type { Worker } from '../../core/orchestrator/queue/worker-store.ts';
import type { Host } from '../../host/host.ts';

/** All live workers, then up to `limit` ended ones; both newest first. */
export function listedWorkers(host: Host, limit: number): Worker[] {
  const all = host.orchestrator.store.all().reverse();
  const isOver = ({ log }: Worker) => log.read().isOver;
  const over = all.filter(isOver).slice(0, limit);
  return [...all.filter((worker) => !isOver(worker)), ...over];
}

export function workerJson({ meta, log }: Worker) {
  const queue = log.read();
  return {
    agent_id: meta.agent_id,
    name: meta.name,
    role: meta.role,
    engine: meta.engine,
    status: queue.status,
    queue_depth: queue.depth,
    running_task_id: queue.running?.id ?? null,
    created_at: meta.created_at
  };
}
