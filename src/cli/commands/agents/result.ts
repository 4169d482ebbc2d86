import type { Command } from 'commander';
import { withAsking } from '../../../answers/asks.ts';
import { reportRun } from '../../../answers/format-run.ts';
import { noteRead } from '../../../core/runs/run-files.ts';
import { terminalLine } from '../../../core/text.ts';
import type { Host } from '../../../host/host.ts';
import {
  agentIdIn,
  describeOutcome,
  exitCodeOf,
  noSuchAgent
} from '../../output/agents.ts';
import { describeAsk } from '../../output/asks.ts';
import { describeChanges } from '../../output/changes.ts';
import { printAnswer, printJson, report } from '../../output/output.ts';
import {
  addWorkspaceFlags,
  describeError,
  exitAfter,
  exitCodes,
  parseCount,
  type WorkspaceFlags
} from '../command-options.ts';

interface ResultFlags extends WorkspaceFlags {
  offset?: number;
}

export function addResult(program: Command): void {
  addWorkspaceFlags(
    program
      .command('result')
      .description('the whole answer of an agent')
      .argument('<id>', 'of an agent, or its beginning; see: troupe list')
      .option('--offset <count>', 'skip so many characters', parseCount)
      .option('--json', 'print the answer of the MCP tool "result"'),
    [
      'troupe result 1a2b3c4d',
      'troupe result 1a2b3c4d > answer.md',
      'troupe result 1a2b3c4d --json'
    ]
  ).action(async (id: string, flags: ResultFlags) =>
    exitAfter(flags, (host) => result(host, id, flags))
  );
}

async function result(
  host: Host,
  typed: string,
  { offset, json }: ResultFlags
): Promise<number> {
  const id = agentIdIn(host.store, typed);
  const known = await host.tracker.run(id);
  const run = known && withAsking(known, host);
  if (!run) {
    const unknown = noSuchAgent(id, host);
    if (json)
      await printJson({
        agent_id: id,
        status: 'not_found',
        message: unknown.message
      });
    report(describeError(unknown));
    return exitCodes.error;
  }
  process.exitCode = exitCodeOf([run]);
  if (json)
    await printJson(await reportRun(run, host.store, host.tracker, offset));
  else if (run.outcome) {
    await printAnswer(host.store, run.record, run.outcome, offset);
  }
  if (run.outcome) noteRead(id, host.store);
  if (run.status !== 'completed') report(describeOutcome(run));
  const doing = run.outcome ? undefined : host.tracker.lastWords(run.record);
  if (doing !== undefined && !json) report(`last seen: ${terminalLine(doing)}`);
  if (!run.outcome && !json)
    for (const ask of host.asks.open([run.record])) report(describeAsk(ask));
  const changes = describeChanges(id, host.store.directoryOf(id));
  if (run.outcome && changes !== undefined) report(changes);
  return process.exitCode;
}
