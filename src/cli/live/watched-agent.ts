import { secondsSince } from '../../answers/format-run.ts';
import { changesOf } from '../../core/changes/change-file.ts';
import type { WorkerStatus } from '../../core/orchestrator/queue/records.ts';
import type { Worker } from '../../core/orchestrator/queue/worker-store.ts';
import type { Run, RunStatus } from '../../core/runs/run.ts';
import type { Host } from '../../host/host.ts';
import { colorsFor, statusColor } from '../output/output.ts';
import type { Cell, Column } from '../output/table.ts';
import { dollars, shortDuration, terminalLine, when } from '../output/text.ts';

/** One line of `troupe watch`: an agent, or a worker. */
export interface WatchedAgent {
  id: string;
  engine: string;
  model: string | undefined;
  state: RunStatus | WorkerStatus;
  /** Whether it has not ended. */
  isActive: boolean;
  seconds: number;
  /** US dollars; undefined while it is not known. */
  costUsd: number | undefined;
  /**
   * Lines added and removed, if changes were tracked. `isShared`: another agent
   * may have changed some of them.
   */
  changed: { added: number; removed: number; isShared?: boolean } | undefined;
  /** The current activity, else the error, else the task. */
  doing: string;
  /** The task on one line; of a worker, its name and role. */
  task: string;
  /** When the agent ended, in ISO format. */
  endedAt: string | undefined;
  /** The source of these facts. */
  of: Run | Worker;
}

/** The most characters of a text; no terminal shows more in one line. */
const mostChars = 500;

function cutLine(text: string): string {
  return terminalLine(text.slice(0, mostChars));
}

export function isWorker(of: Run | Worker): of is Worker {
  return 'meta' in of;
}

export async function watchedRun(host: Host, run: Run): Promise<WatchedAgent> {
  const { record, status, outcome } = run;
  const reply = outcome ? undefined : await host.tracker.reply(record.agent_id);
  const task = cutLine(record.task);
  const model = outcome?.model ?? reply?.model ?? record.model;
  return {
    id: cutLine(record.agent_id),
    engine: cutLine(record.engine),
    model: model === null ? undefined : cutLine(model),
    state: status,
    isActive: !outcome,
    seconds: outcome ? outcome.duration_ms / 1000 : secondsSince(record),
    costUsd: outcome?.cost_usd ?? reply?.costUsd,
    changed: changedLines(host.store.directoryOf(record.agent_id)),
    doing: doingOf(host, run) ?? task,
    task,
    endedAt: outcome?.completed_at,
    of: run
  };
}

function doingOf(host: Host, { record, status, outcome }: Run) {
  if (outcome)
    return outcome.error === null ? undefined : cutLine(outcome.error);
  if (status === 'queued') return 'waiting for a free place';
  const [first] = status === 'asking' ? host.asks.open([record]) : [];
  if (first) {
    const [subject = ''] = Object.values(first.ask.subject);
    return cutLine(`${first.ask.ask_id} ${first.ask.tool}: ${subject}`);
  }
  const words = host.tracker.lastWords(record);
  return words === undefined ? undefined : cutLine(words);
}

export function watchedWorker(worker: Worker): WatchedAgent {
  const { meta, log } = worker;
  const { status, depth, running, isOver } = log.read();
  const queue = depth > 0 ? `, ${depth} in its queue` : '';
  const name = `${meta.name} (${meta.role})`;
  const busy = running ? `at task ${running.id}` : 'no task';
  return {
    id: cutLine(meta.agent_id),
    engine: cutLine(meta.engine),
    model: meta.model === null ? undefined : cutLine(meta.model),
    state: status,
    isActive: !isOver,
    seconds: Math.max(0, (Date.now() - Date.parse(meta.created_at)) / 1000),
    costUsd: undefined,
    changed: undefined,
    doing: cutLine(`worker ${meta.name}, ${busy}${queue}`),
    task: cutLine(`worker ${name}`),
    endedAt: undefined,
    of: worker
  };
}

function changedLines(directory: string): WatchedAgent['changed'] {
  const files = changesOf(directory)?.files;
  if (!files) return undefined;
  const sum = (name: 'added' | 'removed') =>
    files.reduce((total, file) => total + (file[name] ?? 0), 0);
  const isShared = files.some(({ shared }) => shared);
  return { added: sum('added'), removed: sum('removed'), isShared };
}

export const agentColumns: Column[] = [
  { heading: 'ID' },
  { heading: 'STATE' },
  { heading: 'ENGINE', minWidth: 12 },
  { heading: 'TIME', align: 'right' },
  { heading: 'COST', align: 'right', dropOrder: 2 },
  { heading: 'LINES', dropOrder: 1 },
  { heading: 'ENDED', dropOrder: 0 },
  { heading: 'DOING', minWidth: 12 }
];

/**
 * @param seconds since the state was read
 * @param room the most characters of the activity
 */
export function agentRow(
  agent: WatchedAgent,
  seconds = 0,
  room = Number.POSITIVE_INFINITY
): Cell[] {
  const { id, state, engine, model, costUsd, changed } = agent;
  const doing = agent.doing.slice(0, room);
  const colors = colorsFor(process.stdout);
  const { endedAt, isActive } = agent;
  const age = agent.seconds + (isActive ? seconds : 0);
  return [
    id,
    { text: state, color: statusColor(colors, state) },
    model === undefined ? engine : `${engine} ${model}`,
    // A time that is updated once a second has no tenths.
    shortDuration(age).replace(isActive ? /\.\d/ : '', ''),
    dollars(costUsd ?? null) || '-',
    linesOf(changed),
    endedAt === undefined ? '-' : when(endedAt),
    doing
  ];
}

function linesOf(changed: WatchedAgent['changed']): string {
  if (!changed) return '-';
  const { added, removed, isShared } = changed;
  return `+${added} -${removed}${isShared ? ' shared' : ''}`;
}
