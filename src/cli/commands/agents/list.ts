import type { Command } from 'commander';
import { withAsking } from '../../../answers/asks.ts';
import { secondsSince } from '../../../answers/format-run.ts';
import { HostError } from '../../../core/errors.ts';
import type { Run } from '../../../core/runs/run.ts';
import type { Host } from '../../../host/host.ts';
import {
  listedWorkers,
  workerJson
} from '../../../interfaces/board/listed-workers.ts';
import { describeReplaced } from '../../doctor/engine-check.ts';
import type { ListDocument } from '../../json/agent-documents.ts';
import {
  colorsFor,
  print,
  printJson,
  report,
  statusColor
} from '../../output/output.ts';
import { type Cell, type Column, table } from '../../output/table.ts';
import { dollars, shortDuration, when } from '../../output/text.ts';
import { workerTable } from '../../output/worker-table.ts';
import {
  addWorkspaceFlags,
  exitAfter,
  exitCodes,
  parseCount,
  type WorkspaceFlags
} from '../command-options.ts';

interface ListFlags extends WorkspaceFlags {
  limit: number;
}

export function addList(program: Command): void {
  addWorkspaceFlags(
    program
      .command('list')
      .description('running agents, agents that ended last, and workers')
      .option('-n, --limit <count>', 'how many ended agents', parseCount, 10)
      .option('--json', 'print JSON'),
    ['troupe list', 'troupe list -n 50', 'troupe list --json']
  ).action(async (flags: ListFlags) =>
    exitAfter(flags, (host) => list(host, flags))
  );
}

async function list(host: Host, { limit, json }: ListFlags): Promise<number> {
  const { replaced } = host.registry;
  const standing = await host.tracker.standing();
  const active = standing.active.map((run) => withAsking(run, host));
  const ended = await endedLast(host, limit, standing.over);
  const workers = listedWorkers(host, limit);
  const doing: Doing = new Map(
    active.map((run) => [run, host.tracker.lastWords(run.record)])
  );
  if (json) {
    const shown = (run: Run) => describe(run, doing.get(run));
    const isQueued = ({ status }: Run) => status === 'queued';
    await printJson<ListDocument>({
      running: active.filter((run) => !isQueued(run)).map(shown),
      queued: active.filter(isQueued).map(shown),
      ended: ended.map(shown),
      workers: workers.map(workerJson),
      faults: host.faults,
      ...(replaced.length > 0 ? { replaced } : {})
    });
    return exitCodes.done;
  }
  const runs = [...active, ...ended];
  const tables = [
    ...(runs.length > 0 ? [listTable(runs, doing)] : []),
    ...(workers.length > 0 ? [workerTable(workers)] : [])
  ];
  if (tables.length > 0) await print(tables.join('\n'));
  else report(host.recent(1).length > 0 ? nobodyAtWork : nothingYet);
  for (const one of replaced) report(describeReplaced(one));
  return exitCodes.done;
}

const nothingYet =
  'There are no agents in this workspace yet. Start one: troupe run claude "explain this repository" (troupe doctor shows which engines are ready)';

const nobodyAtWork = 'No agent is running. --limit shows those that ended.';

/**
 * The agents that ended last, newest first.
 * @param over ids of those whose end may not be recorded yet
 */
async function endedLast(
  host: Host,
  limit: number,
  over: readonly string[]
): Promise<Run[]> {
  const ids = host.recent(limit, over);
  const runs: Run[] = [];
  for (const id of ids.reverse()) {
    // One that is damaged, or has no room for its end, hides no other.
    const run = await host.tracker.run(id).catch((error: unknown) => {
      if (!(error instanceof HostError)) throw error;
      report(`${error.message} ${error.hint}`);
    });
    if (run?.outcome) runs.push(run);
  }
  return runs;
}

const columns: Column[] = [
  { heading: 'ID' },
  { heading: 'ENGINE', minWidth: 8 },
  { heading: 'STATUS' },
  { heading: 'TIME', dropOrder: 2 },
  { heading: 'COST', dropOrder: 1 },
  { heading: 'ENDED', dropOrder: 3 },
  { heading: 'TASK', minWidth: 16 }
];

/** Shown as the last column when an agent has reported its activity. */
const doingColumn: Column = { heading: 'DOING', minWidth: 12, dropOrder: 0 };

/** The last message or action of each active agent. */
type Doing = Map<Run, string | undefined>;

export function listTable(runs: Run[], doing: Doing = new Map()): string {
  const hasWords = runs.some((run) => doing.get(run) !== undefined);
  if (!hasWords) return table(columns, runs.map(row));
  return table(
    [...columns, doingColumn],
    runs.map((run) => [...row(run), doing.get(run) ?? '-'])
  );
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

function describe(run: Run, doing: string | undefined) {
  const { record, status, outcome } = run;
  return {
    agent_id: record.agent_id,
    agent_type: record.engine,
    model: outcome?.model ?? record.model ?? 'default',
    status,
    task: record.task,
    ...(doing === undefined ? {} : { doing }),
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
