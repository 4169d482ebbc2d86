import type { Command } from 'commander';
import { secondsSince } from '../../core/runs/report.ts';
import type { Run } from '../../core/runs/run.ts';
import { unlessSpoilt } from '../../core/runs/spoilt.ts';
import type { Host } from '../../host.ts';
import type { ListDocument } from '../json/agent-document.ts';
import { colorsFor, print, printJson, statusColor, tell } from '../output.ts';
import { exitWith } from '../process-end.ts';
import {
  addWorkspaceFlags,
  examples,
  exitCodes,
  type JsonFlag,
  parseCount,
  type WorkspaceFlags,
  withHost
} from '../shared.ts';
import { type Cell, type Column, table } from '../table.ts';
import { dollars, shortDuration, when } from '../text.ts';
import { listedWorkers, workerJson, workerTable } from '../worker-table.ts';

interface ListFlags extends WorkspaceFlags, JsonFlag {
  limit: number;
}

export function addList(program: Command): void {
  addWorkspaceFlags(
    program
      .command('list')
      .description('agents at work, those that ended last, and workers')
      .option('--limit <count>', 'how many that ended', parseCount, 10)
      .option('--json', 'print JSON')
  )
    .addHelpText(
      'after',
      examples(['troupe list', 'troupe list --limit 50', 'troupe list --json'])
    )
    .action(async (flags: ListFlags) =>
      exitWith(await withHost(flags, (host) => list(host, flags)))
    );
}

async function list(host: Host, { limit, json }: ListFlags): Promise<number> {
  const active = await host.tracker.active();
  const ended = await endedLast(host, limit);
  const workers = listedWorkers(host, limit);
  if (json) {
    const rows = (status: string) =>
      active.filter((run) => run.status === status).map(describe);
    await printJson<ListDocument>({
      running: rows('running'),
      queued: rows('queued'),
      ended: ended.map(describe),
      workers: workers.map(workerJson),
      faults: host.faults
    });
    return exitCodes.done;
  }
  const runs = [...active, ...ended];
  const tables = [
    ...(runs.length > 0 ? [listTable(runs)] : []),
    ...(workers.length > 0 ? [workerTable(workers)] : [])
  ];
  if (tables.length > 0) await print(tables.join('\n'));
  else tell(host.recent(1).length > 0 ? nobodyAtWork : nothingYet);
  return exitCodes.done;
}

const nothingYet =
  'There are no agents in this workspace yet. Start one: troupe run claude "explain this repository" (troupe doctor tells which engines are ready)';

const nobodyAtWork =
  'Nobody is at work. Those that ended are shown with --limit.';

/** Newest first. */
async function endedLast(host: Host, limit: number): Promise<Run[]> {
  const ids = host.recent(limit);
  const runs: Run[] = [];
  for (const id of ids.reverse()) {
    const run = await unlessSpoilt(host.tracker.run(id), ({ message, hint }) =>
      tell(`${message} ${hint}`)
    );
    if (run?.outcome) runs.push(run);
  }
  return runs;
}

const columns: Column[] = [
  { heading: 'ID' },
  { heading: 'ENGINE', least: 8 },
  { heading: 'STATUS' },
  { heading: 'TIME', goes: 2 },
  { heading: 'COST', goes: 1 },
  { heading: 'ENDED', goes: 3 },
  { heading: 'TASK', least: 16 }
];

export function listTable(runs: Run[]): string {
  return table(columns, runs.map(row));
}

function row(run: Run): Cell[] {
  const { record, status, outcome } = run;
  const color = statusColor(colorsFor(process.stdout), status);
  return [
    record.agent_id,
    record.engine,
    { text: status, color },
    shortDuration(secondsOf(run)),
    dollars(outcome?.cost_usd ?? null) || '-',
    outcome ? when(outcome.completed_at) : '-',
    record.task
  ];
}

function describe(run: Run) {
  const { record, status, outcome } = run;
  return {
    agent_id: record.agent_id,
    agent_type: record.engine,
    model: outcome?.model ?? record.model ?? 'default',
    status,
    task: record.task,
    created_at: record.created_at,
    completed_at: outcome?.completed_at ?? null,
    seconds: secondsOf(run),
    cost_usd: outcome?.cost_usd ?? null,
    error: outcome?.error ?? null,
    error_code: outcome?.error_code ?? null
  };
}

function secondsOf({ record, outcome }: Run): number {
  return outcome ? outcome.duration_ms / 1000 : secondsSince(record);
}
