import type { Command } from 'commander';
import { noteRead } from '../../core/runs/read-mark.ts';
import { reportRuns } from '../../core/runs/report.ts';
import type { Run } from '../../core/runs/run.ts';
import type { Host } from '../../host.ts';
import { agentIdIn, noSuchAgent } from '../agent-id.ts';
import { openBlock } from '../live/agent-block.ts';
import { describeOutcome, exitCodeOf } from '../outcome.ts';
import { print, printJson, tell } from '../output.ts';
import { catchInterruption, exitWith } from '../process-end.ts';
import {
  addWorkspaceFlags,
  examples,
  exitCodes,
  type JsonFlag,
  parseSeconds,
  type WorkspaceFlags,
  withHost
} from '../shared.ts';
import { counted } from '../text.ts';
import { waitWatching } from '../waiting.ts';
import { listTable } from './list.ts';

interface WaitFlags extends WorkspaceFlags, JsonFlag {
  any?: boolean;
  timeout?: number;
}

export function addWait(program: Command): void {
  addWorkspaceFlags(
    program
      .command('wait')
      .description('wait until agents have ended: those named, or all')
      .argument('[id...]', 'of agents, or their beginnings; see: troupe list')
      .option('--any', 'return at the first that ends')
      .option('--timeout <seconds>', 'wait no longer than this', parseSeconds)
      .option('--json', 'print JSON, with the answers')
  )
    .addHelpText(
      'after',
      examples([
        'troupe wait',
        'troupe wait 1a2b3c4d 5e6f7a8b --any',
        'troupe wait --timeout 60 || echo "not all is well"'
      ])
    )
    .action(async (ids: string[], flags: WaitFlags) =>
      exitWith(await withHost(flags, (host) => wait(host, ids, flags)))
    );
}

async function wait(
  host: Host,
  named: string[],
  flags: WaitFlags
): Promise<number> {
  const agentIds = await idsToWaitFor(host, named);
  const { signal, exitCode } = catchInterruption();
  if (agentIds.length > 0)
    tell(`waiting for ${counted(agentIds.length, 'agent')}`);
  host.watch();
  const block = agentIds.length > 0 ? openBlock() : undefined;
  const announce = announcer(agentIds.length);
  const { finished, waiting, spoilt, elapsedMs } = await waitWatching(host, {
    agentIds,
    mode: flags.any ? 'any' : 'all',
    timeoutMs: 1000 * (flags.timeout ?? Number.POSITIVE_INFINITY),
    signal,
    onLook: async (finished, waiting) => {
      await block?.show(host, waiting);
      announce(finished);
    }
  }).finally(() => block?.close());
  const interrupted = exitCode();
  if (interrupted !== undefined) {
    tell('no longer waiting; the agents go on');
    return interrupted;
  }
  const enough = flags.any && finished.length > 0;
  process.exitCode = exitCodeOf(enough ? finished : [...finished, ...waiting]);
  for (const { problem } of spoilt) tell(`${problem.message} ${problem.hint}`);
  if (spoilt.length > 0 && !enough) process.exitCode ||= exitCodes.error;
  if (flags.json) {
    await printJson({
      status: statusOf(agentIds, waiting, enough === true),
      elapsed_seconds: Math.round(elapsedMs / 100) / 10,
      ...(await reportRuns(finished, host.store, host.tracker)),
      still_running: waiting.map(({ record }) => record.agent_id)
    });
    for (const { record } of finished) noteRead(record.agent_id, host.store);
  } else if (agentIds.length === 0) tell('nothing is running');
  else await print(listTable([...finished, ...waiting]));
  return process.exitCode ?? exitCodes.done;
}

async function idsToWaitFor(host: Host, typed: string[]): Promise<string[]> {
  const named = typed.map((id) => agentIdIn(host.store, id));
  for (const id of named) if (!host.store.has(id)) throw noSuchAgent(id, host);
  if (named.length > 0) return [...new Set(named)];
  return (await host.tracker.active()).map(({ record }) => record.agent_id);
}

/** Tells each end once, as it happens. */
function announcer(total: number): (finished: Run[]) => void {
  const told = new Set<string>();
  return (finished) => {
    for (const run of finished) {
      if (told.has(run.record.agent_id)) continue;
      told.add(run.record.agent_id);
      tell(`${told.size} of ${total}: ${describeOutcome(run)}`);
    }
  };
}

function statusOf(agentIds: string[], waiting: Run[], enough: boolean) {
  if (agentIds.length === 0) return 'no_agents_running';
  if (waiting.length === 0) return 'all_completed';
  return enough ? 'any_completed' : 'timeout';
}
