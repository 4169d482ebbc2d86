import type { Command } from 'commander';
import type { Host } from '../../host.ts';
import type { WatchDocument } from '../json/watch-document.ts';
import { agentColumns, agentRow, summaryOf } from '../live/agent-columns.ts';
import { isWorker, type WatchedAgent } from '../live/watched-agent.ts';
import { type Sight, Watcher } from '../live/watcher.ts';
import { print, printJson, tell } from '../output.ts';
import { catchInterruption, exitWith } from '../process-end.ts';
import {
  addWorkspaceFlags,
  examples,
  exitCodes,
  type JsonFlag,
  parseCount,
  type WorkspaceFlags,
  withHost
} from '../shared.ts';
import { table } from '../table.ts';
import { workerJson } from '../worker-table.ts';

interface WatchFlags extends WorkspaceFlags, JsonFlag {
  limit: number;
}

export function addWatch(program: Command): void {
  addWorkspaceFlags(
    program
      .command('watch')
      .description(
        'all agents on one live screen, with keys to look and cancel'
      )
      .option('--limit <count>', 'how many that ended', parseCount, 20)
      .option('--json', 'print how things stand as JSON, and end')
  )
    .addHelpText(
      'after',
      examples([
        'troupe watch',
        'troupe watch --limit 100',
        'troupe watch --json | jq .today.cost_usd'
      ])
    )
    .action(async (flags: WatchFlags) =>
      exitWith(await withHost(flags, (host) => watch(host, flags)))
    );
}

async function watch(host: Host, flags: WatchFlags): Promise<number> {
  const watcher = new Watcher(host, flags.limit);
  if (flags.json) {
    await printJson(describe(await watcher.look()));
    return exitCodes.done;
  }
  if (!hasScreen()) return printOnce(await watcher.look());
  const interruption = catchInterruption();
  // Who only prints how things stand does not need it.
  const { WatchSession } = await import('../live/watch-session.ts');
  await new WatchSession(host, watcher).run(interruption);
  return interruption.exitCode() ?? exitCodes.done;
}

function hasScreen(): boolean {
  const { stdin, stdout, env } = process;
  return stdin.isTTY && stdout.isTTY && env.TERM !== 'dumb';
}

async function printOnce(sight: Sight): Promise<number> {
  const { agents, isUnused } = sight;
  if (isUnused)
    tell('There are no agents in this workspace yet. See: troupe run --help');
  else if (agents.length > 0)
    await print(
      table(
        agentColumns,
        agents.map((agent) => agentRow(agent))
      )
    );
  tell(summaryOf(sight));
  if (!process.stdout.isTTY)
    tell('on a terminal, troupe watch shows this live');
  return exitCodes.done;
}

function describe({ agents, today }: Sight): WatchDocument {
  return {
    today: {
      day: today.day,
      ended: today.ended,
      not_completed: today.notCompleted,
      cost_usd: today.costUsd ?? null,
      costs_unknown: today.costsUnknown
    },
    agents: agents.flatMap((agent) => describeRun(agent)),
    workers: agents.flatMap(({ of }) => (isWorker(of) ? [workerJson(of)] : []))
  };
}

function describeRun(agent: WatchedAgent) {
  const { of, changed } = agent;
  if (isWorker(of)) return [];
  return [
    {
      agent_id: agent.id,
      agent_type: agent.engine,
      model: agent.model ?? 'default',
      status: of.status,
      task: of.record.task,
      doing: agent.doing,
      created_at: of.record.created_at,
      completed_at: agent.endedAt ?? null,
      seconds: agent.seconds,
      cost_usd: agent.costUsd ?? null,
      lines_added: changed?.added ?? null,
      lines_removed: changed?.removed ?? null
    }
  ];
}
