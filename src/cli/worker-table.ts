import type { Worker } from '../core/orchestrator/worker-store.ts';
import type { Host } from '../host.ts';
import { colorsFor, statusColor } from './output.ts';
import { type Cell, type Column, table } from './table.ts';

/** Workers that are there, and at most so many that are over, newest first. */
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
  { heading: 'NAME', least: 10 },
  { heading: 'ENGINE', least: 8, goes: 1 },
  { heading: 'STATUS' },
  { heading: 'QUEUE', align: 'right' },
  { heading: 'TASK', least: 8 },
  { heading: 'ROLE', least: 10, goes: 2 }
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
