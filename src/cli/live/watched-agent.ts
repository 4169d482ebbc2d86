import { changesOf } from '../../core/changes/change-file.ts';
import type { WorkerStatus } from '../../core/orchestrator/records.ts';
import type { Worker } from '../../core/orchestrator/worker-store.ts';
import { secondsSince } from '../../core/runs/report.ts';
import type { Run, RunStatus } from '../../core/runs/run.ts';
import type { Host } from '../../host.ts';
import { counted, oneLine as wholeLine } from '../text.ts';

/** One line of `troupe watch`: an agent, or a worker. */
export interface WatchedAgent {
  id: string;
  engine: string;
  model: string | undefined;
  state: RunStatus | WorkerStatus;
  /** It works, or could: nothing has ended it. */
  isActive: boolean;
  seconds: number;
  /** US dollars; undefined while it is not known. */
  costUsd: number | undefined;
  /** Lines added and removed, where troupe saw what it changed. */
  changed: { added: number; removed: number } | undefined;
  /** What it does now, how it failed, or what it was asked. */
  doing: string;
  /** First line of what was asked; of a worker its name and role. */
  task: string;
  /** ISO time of its end. */
  endedAt: string | undefined;
  of: Run | Worker;
}

/** More than any terminal shows in one line. */
const mostChars = 500;

function oneLine(text: string): string {
  return wholeLine(text.slice(0, mostChars));
}

export function isWorker(of: Run | Worker): of is Worker {
  return 'meta' in of;
}

export async function watchedRun(host: Host, run: Run): Promise<WatchedAgent> {
  const { record, status, outcome } = run;
  const reply = outcome ? undefined : await host.tracker.reply(record.agent_id);
  const task = oneLine(record.task);
  const model = outcome?.model ?? reply?.model ?? record.model;
  return {
    id: oneLine(record.agent_id),
    engine: oneLine(record.engine),
    model: model === null ? undefined : oneLine(model),
    state: status,
    isActive: !outcome,
    seconds: outcome ? outcome.duration_ms / 1000 : secondsSince(record),
    costUsd: outcome?.cost_usd ?? reply?.costUsd,
    changed: changedLines(host.store.directoryOf(record.agent_id)),
    doing: doingOf(run, reply?.progress) ?? task,
    task,
    endedAt: outcome?.completed_at,
    of: run
  };
}

function doingOf({ status, outcome }: Run, progress: string | undefined) {
  if (outcome)
    return outcome.error === null ? undefined : oneLine(outcome.error);
  if (status === 'queued') return 'waiting for a free place';
  return progress === undefined ? undefined : oneLine(progress);
}

export function watchedWorker(worker: Worker): WatchedAgent {
  const { meta, log } = worker;
  const { status, depth, running, isOver } = log.read();
  const queue = depth > 0 ? `, ${depth} in its queue` : '';
  const name = `${meta.name} (${meta.role})`;
  const busy = running ? `at task ${running.id}` : 'no task';
  return {
    id: oneLine(meta.agent_id),
    engine: oneLine(meta.engine),
    model: meta.model === null ? undefined : oneLine(meta.model),
    state: status,
    isActive: !isOver,
    seconds: Math.max(0, (Date.now() - Date.parse(meta.created_at)) / 1000),
    costUsd: undefined,
    changed: undefined,
    doing: oneLine(`worker ${meta.name}, ${busy}${queue}`),
    task: oneLine(`worker ${name}`),
    endedAt: undefined,
    of: worker
  };
}

function changedLines(directory: string): WatchedAgent['changed'] {
  const files = changesOf(directory)?.files;
  if (!files) return undefined;
  const sum = (name: 'added' | 'removed') =>
    files.reduce((total, file) => total + (file[name] ?? 0), 0);
  return { added: sum('added'), removed: sum('removed') };
}

/** `3 running, 1 queued`, in this order, of those that have not ended. */
export function countsOf(agents: WatchedAgent[]): string {
  const active = agents.filter(({ isActive }) => isActive);
  const runs = active.filter(({ of }) => !isWorker(of));
  const workers = active.length - runs.length;
  const running = runs.filter(({ state }) => state === 'running').length;
  const queued = runs.length - running;
  return [
    `${running} running`,
    ...(queued > 0 ? [`${queued} queued`] : []),
    ...(workers > 0 ? [counted(workers, 'worker')] : [])
  ].join(', ');
}
