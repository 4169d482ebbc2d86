import { rmSync } from 'node:fs';
import type { Command } from 'commander';
import { policyOf } from '../../../config/retention.ts';
import { HostError, messageOf } from '../../../core/errors.ts';
import { orphansIn } from '../../../core/paths/records.ts';
import { removeAll } from '../../../core/retention/clean.ts';
import {
  removeHalves,
  removeWorker
} from '../../../core/retention/ended-workers.ts';
import { useOf } from '../../../core/retention/record-users.ts';
import { scanRecord } from '../../../core/retention/scan.ts';
import type { Policy } from '../../../core/retention/select.ts';
import { bytesBelow } from '../../../core/state/files/directories.ts';
import { visibleText } from '../../../core/text.ts';
import type { Host } from '../../../host/host.ts';
import { type CleanPlan, makePlan } from '../../clean/clean-plan.ts';
import {
  ask,
  planJson,
  planTable,
  reportKept,
  showDisk,
  summaryOf
} from '../../clean/clean-report.ts';
import type { OrphansDocument } from '../../json/record-documents.ts';
import { agentIdIn } from '../../output/agents.ts';
import { print, printJson, report } from '../../output/output.ts';
import { table } from '../../output/table.ts';
import { amount, counted } from '../../output/text.ts';
import { catchInterruption } from '../../process/process-end.ts';
import {
  addWorkspaceFlags,
  examples,
  exitAfter,
  exitCodes,
  isInteractive,
  parseAge,
  parseBytes,
  parseCount,
  type WorkspaceFlags
} from '../command-options.ts';

interface CleanFlags extends WorkspaceFlags {
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
      .argument('[id...]', 'these, read or not')
      .option('--older-than <age>', 'ended longer ago: 30d, 12h, 2w', parseAge)
      .option('--keep <count>', 'keep so many of the newest', parseCount)
      .option('--max-size <size>', 'the oldest, down to 2GB', parseBytes)
      .option('--workers', 'also ended workers, with their history')
      .option('--orphans', 'only the records of workspaces that are gone')
      .option('--dry-run', 'only show what would be removed')
      .option('-y, --yes', 'do not ask; needed in a pipe')
      .option('--json', 'print JSON')
  )
    .addHelpText(
      'after',
      `
Without any of these it follows "retention" in the configuration, or only
shows what there is.
${examples([
  'troupe clean                          # shows what there is',
  'troupe clean --older-than 30d --dry-run',
  'troupe clean --max-size 2GB --keep 20 --yes',
  'troupe clean 1a2b3c4d',
  'troupe clean --orphans --dry-run'
])}`
    )
    .action(async (ids: string[], flags: CleanFlags) =>
      exitAfter(flags, (host) => clean(host, ids, flags))
    );
}

async function clean(
  host: Host,
  ids: string[],
  flags: CleanFlags
): Promise<number> {
  const { store } = host;
  const flagPolicy = policyIn(flags);
  if (flags.orphans) {
    if (flagPolicy ?? (ids.length > 0 || flags.workers))
      throw new HostError(
        'invalid_input',
        '--orphans removes whole records, and nothing of this workspace.',
        'Leave out ids, --older-than, --keep, --max-size and --workers.'
      );
    return cleanOrphans(host, flags);
  }
  if (flagPolicy && ids.length > 0)
    throw new HostError(
      'invalid_input',
      'Agents given by id are removed whatever their age and size.',
      'Give ids, or --older-than, --keep and --max-size.'
    );
  const policy = flagPolicy ?? policyOf(host.config.retention);
  const residents = await scanRecord(store);
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
    report(`would remove ${summaryOf(plan)}`);
    reportKept(plan);
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
    if (!isInteractive(flags))
      throw new HostError(
        'invalid_input',
        `That would remove ${summaryOf(plan)}; nothing was removed.`,
        'Add --yes to remove it, or --dry-run to see it.'
      );
    await print(planTable(plan));
    if (!(await ask(`Remove ${summaryOf(plan)}?`))) {
      report('nothing was removed');
      return exitCodes.done;
    }
  }
  const done = await remove(host, plan);
  if (json) await printJson(planJson(done, false));
  else {
    if (yes) await print(planTable(done));
    report(done.isEmpty ? 'nothing to remove' : `removed ${summaryOf(done)}`);
    reportKept(done);
  }
  for (const problem of done.problems) report(problem);
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
      if (plan.withWorkers) removeHalves(paths, trash, processes);
    }
  );
  const isAll = removed.length === plan.agents.length;
  if (signal.aborted && !isAll) onProblem('interrupted: the rest is kept');
  return { ...plan, agents: removed, problems };
}

/** Removes the whole record of each workspace that no longer exists. */
async function cleanOrphans(
  { paths, processes }: Host,
  flags: CleanFlags
): Promise<number> {
  const { dryRun = false, yes, json } = flags;
  const found = orphansIn(paths.home).map((orphan) => ({
    ...orphan,
    use: useOf(orphan.path, processes)
  }));
  const orphans = found
    .filter(({ use }) => !use)
    .map((orphan) => ({ ...orphan, bytes: bytesBelow(orphan.path) }));
  for (const { workspace, use } of found)
    if (use)
      report(`the record of ${visibleText(workspace)} stays: ${use.clause}`);
  const total = orphans.reduce((sum, { bytes }) => sum + bytes, 0);
  const summary = `${counted(orphans.length, 'record')} (${amount(total)})`;
  if (orphans.length > 0 && !dryRun && !yes && !isInteractive(flags))
    throw new HostError(
      'invalid_input',
      `That would remove ${summary} for good; nothing was removed.`,
      'Add --yes to remove them, or --dry-run to see them.'
    );
  if (!json && orphans.length > 0)
    await print(
      table(
        [
          { heading: 'SIZE', align: 'right', padTo: 8 },
          { heading: 'WORKSPACE', minWidth: 20 }
        ],
        orphans.map(({ bytes, workspace }) => [
          amount(bytes),
          visibleText(workspace)
        ])
      )
    );
  if (orphans.length > 0 && !dryRun && !yes)
    if (!(await ask(`Remove ${summary} for good?`))) {
      report('nothing was removed');
      return exitCodes.done;
    }
  process.exitCode = exitCodes.done;
  for (const { path } of dryRun ? [] : orphans)
    try {
      rmSync(path, { recursive: true });
    } catch (error) {
      report(`${path} was not removed: ${messageOf(error)}`);
      process.exitCode = exitCodes.error;
    }
  if (json)
    await printJson<OrphansDocument>({
      dry_run: dryRun,
      orphans: orphans.map(({ path, workspace, bytes }) => ({
        record: path,
        workspace,
        bytes
      })),
      bytes: total
    });
  else if (orphans.length === 0) report('nothing to remove');
  else report(dryRun ? `would remove ${summary}` : `removed ${summary}`);
  return Number(process.exitCode);
}
