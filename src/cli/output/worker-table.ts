import type { Worker } from '../../core/orchestrator/queue/worker-store.ts';
import { colorsFor, statusColor } from './output.ts';
import { type Cell, type Column, table } from './table.ts';

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
