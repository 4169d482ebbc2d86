import { statSync } from 'node:fs';
import { join } from 'node:path';
import { secondsSince } from '../../answers/format-run.ts';
import type { WorkerStatus } from '../../core/orchestrator/queue/records.ts';
import type { Worker } from '../../core/orchestrator/queue/worker-store.ts';
import type { Run, RunRecord, RunStatus } from '../../core/runs/run.ts';
import type { Host } from '../../host/host.ts';
import { askLine } from '../output/asks.ts';
import { changedLines } from '../output/changes.ts';
import { terminalLine } from '../output/text.ts';

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
  /** The current activity or the error, if there is one. */
  doing: string | undefined;
  /** The task on one line; of a worker, its name and role. */
  task: string;
  /** Seconds since the last output of an agent that runs. */
  quietSeconds: number | undefined;
  /** The client that has asked for it; undefined for the command line. */
  client: string | undefined;
  /** `name` also names the member. */
  squad: { id: string; name: string } | undefined;
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
    doing: doingOf(host, run),
    task,
    quietSeconds: status === 'running' ? quietOf(host, record) : undefined,
    client: record.caller && cutLine(record.caller.client),
    squad: squadOf(record),
    endedAt: outcome?.completed_at,
    of: run
  };
}

function doingOf(host: Host, { record, status, outcome }: Run) {
  if (outcome)
    return outcome.error === null ? undefined : cutLine(outcome.error);
  if (status === 'queued') return 'waiting to start';
  const [first] = status === 'asking' ? host.asks.open([record]) : [];
  if (first) return cutLine(askLine(first));
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
    doing: cutLine(`${busy}${queue}`),
    task: cutLine(`worker ${name}`),
    quietSeconds: undefined,
    client: undefined,
    squad: undefined,
    endedAt: undefined,
    of: worker
  };
}

function quietOf({ store }: Host, record: RunRecord): number {
  const directory = store.directoryOf(record.agent_id);
  const times = ['stdout', 'stderr'].map(
    (name) =>
      statSync(join(directory, name), { throwIfNoEntry: false })?.mtimeMs ?? 0
  );
  const since = Math.max(Date.parse(record.created_at), ...times);
  return Math.max(0, (Date.now() - since) / 1000);
}

function squadOf({ squad }: RunRecord): WatchedAgent['squad'] {
  if (!squad) return undefined;
  const { squadId: id, memberId } = squad;
  return { id, name: cutLine(`${id} ${memberId}`) };
}
