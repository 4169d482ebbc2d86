import type { Command } from 'commander';
import { secondsSince } from '../../core/runs/report.ts';
import type { Run } from '../../core/runs/run.ts';
import type { Host } from '../../host.ts';
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
import { type Cell, table } from '../table.ts';
import { ago, dollars, duration, oneLine } from '../text.ts';

interface ListFlags extends WorkspaceFlags, JsonFlag {
  limit: number;
}

export function addList(program: Command): void {
  addWorkspaceFlags(
    program
      .command('list')
      .description('agents at work, and those that ended last')
      .option('--limit <count>', 'how many ended ones', parseCount, 10)
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
  if (json) {
    const rows = (status: string) =>
      active.filter((run) => run.status === status).map(describe);
    await printJson({
      running: rows('running'),
      queued: rows('queued'),
      ended: ended.map(describe),
      faults: host.registry.faults
    });
  } else if (active.length + ended.length === 0)
    tell('There are no agents in this workspace yet. See: troupe run --help');
  else await print(listTable([...active, ...ended]));
  return exitCodes.done;
}

/** Newest first. */
async function endedLast(host: Host, limit: number): Promise<Run[]> {
  const ids = await host.recent(limit);
  const runs: Run[] = [];
  for (const id of ids.reverse()) {
    const run = await host.tracker.run(id);
    if (run?.outcome) runs.push(run);
  }
  return runs;
}

export function listTable(runs: Run[]): string {
  const heading = ['ID', 'ENGINE', 'STATUS', 'TIME', 'COST', 'WHEN', 'TASK'];
  return table(heading, runs.map(row));
}

function row(run: Run): Cell[] {
  const { record, status, outcome } = run;
  const color = statusColor(colorsFor(process.stdout), status);
  const when = outcome?.completed_at ?? record.created_at;
  return [
    record.agent_id,
    record.engine,
    { text: status, color },
    duration(secondsOf(run)),
    dollars(outcome?.cost_usd ?? null) || '-',
    `${outcome ? 'ended' : 'began'} ${ago(when)}`,
    oneLine(record.task)
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
