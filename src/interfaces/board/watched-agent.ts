import { statSync } from 'node:fs';
import { join } from 'node:path';
import { askLine } from '../../answers/asks.ts';
import { changedLines } from '../../answers/changed-lines.ts';
import { secondsSince } from '../../answers/format-run.ts';
import type { WorkerStatus } from '../../core/orchestrator/queue/records.ts';
import type { Worker } from '../../core/orchestrator/queue/worker-store.ts';
import type { Run, RunRecord, RunStatus } from '../../core/runs/run.ts';
import { terminalLine } from '../../core/text.ts';
import type { Host } from '../../host/host.ts';

/** One line of `troupe watch` or of the page: an agent, or a worker. */
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
  /** When a running agent last wrote output, in milliseconds since 1970. */
  heardAt: number | undefined;
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
    ...quietOf(host, run),
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
    heardAt: undefined,
    client: undefined,
    squad: undefined,
    endedAt: undefined,
    of: worker
  };
}

/** The output of a running agent on disk. */
export interface OutputState {
  /** Changes with each write. */
  sizes: string;
  /** Bytes of stdout. */
  stdout: number;
  /** The last write, in milliseconds since 1970; 0 without output. */
  writtenAt: number;
}

export function outputState(
  { store }: Pick<Host, 'store'>,
  agentId: string
): OutputState {
  const directory = store.directoryOf(agentId);
  const [stdout, stderr] = [
    outputFile(directory, 'stdout'),
    outputFile(directory, 'stderr')
  ];
  return {
    sizes: `${stdout.size},${stderr.size}`,
    stdout: stdout.size,
    writtenAt: Math.max(stdout.mtimeMs, stderr.mtimeMs)
  };
}

/** Bytes of stdout of a running agent. */
export function stdoutSize(
  { store }: Pick<Host, 'store'>,
  agentId: string
): number {
  return outputFile(store.directoryOf(agentId), 'stdout').size;
}

function outputFile(directory: string, name: 'stdout' | 'stderr') {
  const file = statSync(join(directory, name), { throwIfNoEntry: false });
  return file ?? { size: 0, mtimeMs: 0 };
}

/** The fields about the silence of a run. */
export function quietOf(
  host: Pick<Host, 'store'>,
  { record, status }: Run,
  { writtenAt } = outputState(host, record.agent_id)
): Pick<WatchedAgent, 'quietSeconds' | 'heardAt'> {
  if (status !== 'running')
    return { quietSeconds: undefined, heardAt: undefined };
  const heardAt = Math.max(Date.parse(record.created_at), writtenAt);
  return { quietSeconds: Math.max(0, (Date.now() - heardAt) / 1000), heardAt };
}

function squadOf({ squad }: RunRecord): WatchedAgent['squad'] {
  if (!squad) return undefined;
  const { squadId: id, memberId } = squad;
  return { id, name: cutLine(`${id} ${memberId}`) };
}
