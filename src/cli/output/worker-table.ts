import type { Worker } from '../../core/orchestrator/queue/worker-store.ts';
import type { Host } from '../../host/host.ts';
import { colorsFor, statusColor } from './output.ts';
import { type Cell, type Column, table } from './table.ts';

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

const columns: Column[] = [
  { heading: 'WORKER' },
  { heading: 'NAME', minWidth: 10 },
  { heading: 'ENGINE', minWidth: 8, dropOrder: 1 },
  { heading: 'STATUS' },
  { heading: 'QUEUE', align: 'right' },
  { heading: 'TASK', minWidth: 8 },
  { heading: 'ROLE', minWidth: 10, dropOrder: 2 }
];

export function workerTable(workers: Worker[]): string {
  return table(columns, workers.map(row));
}

function row({ meta, log }: Worker): Cell[] {
  const { status, depth, running } = log.read();
  const color = statusColor(colorsFor(process.stdout), status);
  return [
    meta.agent_id,
    meta.name,
    meta.engine,
    { text: status, color },
    `${depth}`,
    running?.id ?? '-',
    meta.role
  ];
}
