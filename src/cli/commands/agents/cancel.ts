import type { Command } from 'commander';
import type { Host } from '../../../host/host.ts';
import type { CancelDocument } from '../../json/agent-documents.ts';
import { agentIdIn, noSuchAgent } from '../../output/agents.ts';
import { print, printJson } from '../../output/output.ts';
import {
  addWorkspaceFlags,
  exitAfter,
  exitCodes,
  type WorkspaceFlags
} from '../command-options.ts';

interface CancelFlags extends WorkspaceFlags {
  reason?: string;
}

export function addCancel(program: Command): void {
  addWorkspaceFlags(
    program
      .command('cancel')
      .description('stop an agent and every process it started')
      .argument('<id>', 'of an agent, or its beginning; see: troupe list')
      .option('--reason <text>', 'goes into the log')
      .option('--json', 'print JSON'),
    ['troupe cancel 1a2b3c4d', 'troupe cancel 1a2b3c4d --reason "wrong branch"']
  ).action(async (id: string, flags: CancelFlags) =>
    exitAfter(flags, (host) => cancel(host, id, flags))
  );
}

async function cancel(
  host: Host,
  typed: string,
  { reason, json }: CancelFlags
): Promise<number> {
  const id = agentIdIn(host.store, typed);
  const before = await host.tracker.run(id);
  const run = before?.outcome ? before : await host.cancel(id, reason);
  if (!run) throw noSuchAgent(id, host);
  const message = before?.outcome
    ? `It had ended before (${run.status}); nothing was changed.`
    : `It is ${run.status}.`;
  if (json)
    await printJson<CancelDocument>({
      agent_id: id,
      status: run.status,
      message
    });
  else await print(`${id} ${message}\n`);
  return exitCodes.done;
}
