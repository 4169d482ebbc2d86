import type { Command } from 'commander';
import { HostError } from '../../core/errors.ts';
import { removeAll } from '../../core/retention/apply.ts';
import { takeCensus } from '../../core/retention/census.ts';
import type { Policy } from '../../core/retention/choose.ts';
import {
  removeHalves,
  removeWorker
} from '../../core/retention/ended-workers.ts';
import type { Host } from '../../host.ts';
import { policyOf } from '../../retention-config.ts';
import { agentIdIn } from '../agent-id.ts';
import { parseAge, parseBytes } from '../amounts.ts';
import { ask } from '../ask.ts';
import { cleanOrphans } from '../clean-orphans.ts';
import { type CleanPlan, makePlan } from '../clean-plan.ts';
import { planJson, planTable, summaryOf, tellKept } from '../clean-report.ts';
import { showDisk } from '../disk-table.ts';
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

interface CleanFlags extends WorkspaceFlags, JsonFlag {
  olderThan?: number;
  keep?: number;
  maxSize?: number;
  workers?: boolean;
  orphans?: boolean;
  dryRun?: boolean;
  yes?: boolean;
}

export function addClean(program: Command): void {
  addWorkspaceFlags(
    program
      .command('clean')
      .description('remove agents that have ended and were read')
      .argument('[id...]', 'these, also when nobody has read them')
      .option('--older-than <age>', 'ended longer ago: 30d, 12h, 2w', parseAge)
      .option('--keep <count>', 'so many of the newest stay', parseCount)
      .option('--max-size <size>', 'the oldest, until 2GB are left', parseBytes)
      .option('--workers', 'also workers that are over, with their history')
      .option(
        '--orphans',
        'records of workspaces that are gone, and only these'
      )
      .option('--dry-run', 'only show what would be removed')
      .option('-y, --yes', 'do not ask; needed in a pipe')
      .option('--json', 'print JSON')
  )
    .addHelpText(
      'after',
      `
Without any of these it removes what "retention" in the configuration says,
or only shows what there is.
${examples([
  'troupe clean                          # shows what there is',
  'troupe clean --older-than 30d --dry-run',
  'troupe clean --max-size 2GB --keep 20 --yes',
  'troupe clean 1a2b3c4d',
  'troupe clean --orphans --dry-run'
])}`
    )
    .action(async (ids: string[], flags: CleanFlags) =>
      exitWith(await withHost(flags, (host) => clean(host, ids, flags)))
    );
}

async function clean(
  host: Host,
  ids: string[],
  flags: CleanFlags
): Promise<number> {
  const { store } = host;
  const given = policyIn(flags);
  if (flags.orphans) {
    if (given ?? (ids.length > 0 || flags.workers))
      throw new HostError(
        'invalid_input',
        '--orphans removes whole records, and nothing of this workspace.',
        'Leave out ids, --older-than, --keep, --max-size and --workers.'
      );
    return cleanOrphans(host, flags);
  }
  if (given && ids.length > 0)
    throw new HostError(
      'invalid_input',
      'Agents that are named are removed whatever their age and size.',
      'Give ids, or --older-than, --keep and --max-size.'
    );
  const policy = given ?? policyOf(host.config.retention);
  const residents = await takeCensus(store);
  if (ids.length === 0 && !policy && !flags.workers) {
    await showDisk(host, residents, flags);
    return exitCodes.done;
  }
  const plan = makePlan(host, residents, {
    ids: [...new Set(ids.map((id) => agentIdIn(store, id)))],
    policy,
    workers: flags.workers === true
  });
  if (flags.dryRun) return showOnly(plan, flags);
  return carryOut(host, plan, flags);
}

function policyIn({ olderThan, keep, maxSize }: CleanFlags) {
  const policy: Policy = {
    ...(olderThan === undefined ? {} : { olderThanMs: olderThan }),
    ...(keep === undefined ? {} : { keep }),
    ...(maxSize === undefined ? {} : { maximumBytes: maxSize })
  };
  return Object.keys(policy).length > 0 ? policy : undefined;
}

async function showOnly(plan: CleanPlan, { json }: CleanFlags) {
  if (json) await printJson(planJson(plan, true));
  else {
    await print(planTable(plan));
    tell(`would remove ${summaryOf(plan)}`);
    tellKept(plan);
  }
  return exitCodes.done;
}

async function carryOut(
  host: Host,
  plan: CleanPlan,
  flags: CleanFlags
): Promise<number> {
  const { json, yes } = flags;
  if (!plan.isEmpty && !yes) {
    if (!process.stdin.isTTY || !process.stdout.isTTY || json)
      throw new HostError(
        'invalid_input',
        `That would remove ${summaryOf(plan)}; nothing was removed.`,
        'Say --yes to remove it, or --dry-run to see it.'
      );
    await print(planTable(plan));
    if (!(await ask(`Remove ${summaryOf(plan)}?`))) {
      tell('nothing was removed');
      return exitCodes.done;
    }
  }
  const done = await remove(host, plan);
  if (json) await printJson(planJson(done, false));
  else {
    if (yes) await print(planTable(done));
    tell(done.isEmpty ? 'nothing to remove' : `removed ${summaryOf(done)}`);
    tellKept(done);
  }
  for (const problem of done.problems) tell(problem);
  return done.problems.length > 0 ? exitCodes.error : exitCodes.done;
}

async function remove(host: Host, plan: CleanPlan): Promise<CleanPlan> {
  const { store, journal, paths, processes } = host;
  const { signal } = catchInterruption();
  const problems: string[] = [];
  const onProblem = (problem: string) => problems.push(problem);
  const tools = { store, journal, processes, onProblem, signal };
  const removed = await removeAll(
    plan.units,
    plan.residents,
    tools,
    (trash) => {
      for (const { agentId } of plan.workers)
        removeWorker(agentId, paths, trash);
      if (plan.withWorkers) removeHalves(paths, trash);
    }
  );
  const isAll = removed.length === plan.agents.length;
  if (signal.aborted && !isAll) onProblem('interrupted: the rest stays');
  return { ...plan, agents: removed, problems };
}
