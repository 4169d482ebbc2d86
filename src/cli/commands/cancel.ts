import type { Command } from 'commander';
import { unknownAgent } from '../../core/runs/continue-run.ts';
import type { Host } from '../../host.ts';
import { print, printJson } from '../output.ts';
import { exitWith } from '../process-end.ts';
import {
  addWorkspaceFlags,
  examples,
  exitCodes,
  type JsonFlag,
  type WorkspaceFlags,
  withHost
} from '../shared.ts';

interface CancelFlags extends WorkspaceFlags, JsonFlag {
  reason?: string;
}

export function addCancel(program: Command): void {
  addWorkspaceFlags(
    program
      .command('cancel')
      .description('stop an agent and every process it started')
      .argument('<id>', 'see: troupe list')
      .option('--reason <text>', 'goes into the log')
      .option('--json', 'print JSON')
  )
    .addHelpText(
      'after',
      examples([
        'troupe cancel 1a2b3c4d',
        'troupe cancel 1a2b3c4d --reason "wrong branch"'
      ])
    )
    .action(async (id: string, flags: CancelFlags) =>
      exitWith(await withHost(flags, (host) => cancel(host, id, flags)))
    );
}

async function cancel(
  host: Host,
  id: string,
  { reason, json }: CancelFlags
): Promise<number> {
  const before = await host.tracker.run(id);
  const run = before?.outcome ? before : await host.cancel(id, reason);
  if (!run) throw unknownAgent(id);
  const message = before?.outcome
    ? `It had ended before (${run.status}); nothing was changed.`
    : `It is ${run.status}.`;
  if (json) await printJson({ agent_id: id, status: run.status, message });
  else await print(`${id} ${message}\n`);
  return exitCodes.done;
}
