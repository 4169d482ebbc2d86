import type { Command } from 'commander';
import type { Host } from '../../../host/host.ts';
import { describeSnapshot } from '../../../interfaces/board/board-rows.ts';
import { type Snapshot, Watcher } from '../../../interfaces/board/watcher.ts';
import type { WatchDocument } from '../../json/agent-documents.ts';
import { agentTable } from '../../live/agent-columns.ts';
import { summaryOf } from '../../live/summary.ts';
import { print, printJson, report } from '../../output/output.ts';
import { catchInterruption } from '../../process/process-end.ts';
import {
  addWorkspaceFlags,
  exitAfter,
  exitCodes,
  parseCount,
  type WorkspaceFlags
} from '../command-options.ts';

interface WatchFlags extends WorkspaceFlags {
  limit: number;
}

export function addWatch(program: Command): void {
  addWorkspaceFlags(
    program
      .command('watch')
      .description(
        'all agents on one live screen, with keys to look, reply and cancel'
      )
      .option('-n, --limit <count>', 'how many ended agents', parseCount, 20)
      .option('--json', 'print the current state as JSON, and exit'),
    [
      'troupe watch',
      'troupe watch -n 100',
      'troupe watch --json | jq .today.cost_usd'
    ]
  ).action(async (flags: WatchFlags) =>
    exitAfter(flags, (host) => watch(host, flags))
  );
}

async function watch(host: Host, flags: WatchFlags): Promise<number> {
  const watcher = new Watcher(host, flags.limit);
  if (flags.json) {
    await printJson<WatchDocument>(describeSnapshot(await watcher.read()));
    return exitCodes.done;
  }
  if (!hasScreen()) return printOnce(await watcher.read());
  const interruption = catchInterruption();
  // Imported here, because only the live screen needs this module.
  const { WatchSession } = await import('../../live/watch-session.ts');
  await new WatchSession(host, watcher).run(interruption);
  return interruption.exitCode() ?? exitCodes.done;
}

function hasScreen(): boolean {
  const { stdin, stdout, env } = process;
  return stdin.isTTY && stdout.isTTY && env.TERM !== 'dumb';
}

async function printOnce(snapshot: Snapshot): Promise<number> {
  const { agents, isUnused } = snapshot;
  if (isUnused)
    report('There are no agents in this workspace yet. See: troupe run --help');
  else if (agents.length > 0) await print(agentTable(agents));
  report(summaryOf(snapshot));
  if (!process.stdout.isTTY)
    report('on a terminal, troupe watch shows this live');
  return exitCodes.done;
}
