import type { Command } from 'commander';
import { withAsking } from '../../../answers/asks.ts';
import { reportPage } from '../../../answers/report/report-page.ts';
import { noteRead } from '../../../core/runs/run-files.ts';
import type { Host } from '../../../host/host.ts';
import { describeOutcome } from '../../output/agents.ts';
import { print, report } from '../../output/output.ts';
import { agentAt } from '../changes/diff.ts';
import {
  addWorkspaceFlags,
  exitAfter,
  exitCodes,
  type WorkspaceFlags
} from '../command-options.ts';
import { gatherReport } from './gather-report.ts';

export function addReport(program: Command): void {
  addWorkspaceFlags(
    program
      .command('report')
      .description('all about one agent, as an HTML file to hand on')
      .argument('<id>', 'of an agent, or its beginning; see: troupe list'),
    ['troupe report 1a2b3c4d > run.html']
  ).action(async (id: string, flags: WorkspaceFlags) =>
    exitAfter(flags, (host) => printReport(host, id))
  );
}

async function printReport(host: Host, typed: string): Promise<number> {
  const run = withAsking(await agentAt(host, typed), host);
  await print(reportPage(await gatherReport(host, run)));
  if (!run.outcome) {
    report(`${describeOutcome(run)} The report is of now.`);
    return exitCodes.unfinished;
  }
  noteRead(run.record.agent_id, host.store);
  return exitCodes.done;
}
