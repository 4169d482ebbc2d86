import type { Command } from 'commander';
import { noteRead } from '../../core/runs/read-mark.ts';
import { reportRun } from '../../core/runs/report.ts';
import type { Host } from '../../host.ts';
import { agentIdIn, noSuchAgent } from '../agent-id.ts';
import { describeOutcome, exitCodeOf } from '../outcome.ts';
import { printAnswer, printJson, tell } from '../output.ts';
import { exitWith } from '../process-end.ts';
import {
  addWorkspaceFlags,
  describeError,
  examples,
  exitCodes,
  type JsonFlag,
  parseCount,
  type WorkspaceFlags,
  withHost
} from '../shared.ts';

interface ResultFlags extends WorkspaceFlags, JsonFlag {
  offset?: number;
}

export function addResult(program: Command): void {
  addWorkspaceFlags(
    program
      .command('result')
      .description('the whole answer of an agent')
      .argument('<id>', 'of an agent, or its beginning; see: troupe list')
      .option('--offset <count>', 'leave out so many characters', parseCount)
      .option('--json', 'print what the MCP tool "result" answers')
  )
    .addHelpText(
      'after',
      examples([
        'troupe result 1a2b3c4d',
        'troupe result 1a2b3c4d > answer.md',
        'troupe result 1a2b3c4d --json'
      ])
    )
    .action(async (id: string, flags: ResultFlags) =>
      exitWith(await withHost(flags, (host) => result(host, id, flags)))
    );
}

async function result(
  host: Host,
  typed: string,
  { offset, json }: ResultFlags
): Promise<number> {
  const id = agentIdIn(host.store, typed);
  const run = await host.tracker.run(id);
  if (!run) {
    const unknown = noSuchAgent(id, host);
    if (json)
      await printJson({
        agent_id: id,
        status: 'not_found',
        message: unknown.message
      });
    tell(describeError(unknown));
    return exitCodes.error;
  }
  process.exitCode = exitCodeOf([run]);
  if (json)
    await printJson(await reportRun(run, host.store, host.tracker, offset));
  else if (run.outcome) {
    await printAnswer(host.store, run.record, run.outcome, offset);
  }
  if (run.outcome) noteRead(id, host.store);
  if (run.status !== 'completed') tell(describeOutcome(run));
  return process.exitCode;
}
