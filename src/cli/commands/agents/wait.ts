import type { Command } from 'commander';
import { withAsking } from '../../../answers/asks.ts';
import { reportRuns } from '../../../answers/format-run.ts';
import type { OpenAsk } from '../../../core/asks/answers/asks.ts';
import { inScope, refuseLineage } from '../../../core/runs/admission/scope.ts';
import type { LostRun, WaitResult } from '../../../core/runs/end/waiter.ts';
import type { Run } from '../../../core/runs/run.ts';
import { noteRead } from '../../../core/runs/run-files.ts';
import type { Host } from '../../../host/host.ts';
import { openBlock } from '../../live/agent-block.ts';
import { EndAlert } from '../../live/end-alert.ts';
import {
  agentIdIn,
  describeOutcome,
  exitCodeOf,
  noSuchAgent
} from '../../output/agents.ts';
import { asksJson, describeAsk } from '../../output/asks.ts';
import { print, printJson, report } from '../../output/output.ts';
import { counted } from '../../output/text.ts';
import { catchInterruption } from '../../process/process-end.ts';
import {
  addWorkspaceFlags,
  exitAfter,
  exitCodes,
  parseSeconds,
  type WorkspaceFlags
} from '../command-options.ts';
import { listTable } from './list.ts';

interface WaitFlags extends WorkspaceFlags {
  any?: boolean;
  timeout?: number;
}

export function addWait(program: Command): void {
  addWorkspaceFlags(
    program
      .command('wait')
      .description('wait until agents have ended, or one of them asks')
      .argument('[id...]', 'of agents, or their beginnings; see: troupe list')
      .option('--any', 'return when the first one ends')
      .option('--timeout <seconds>', 'wait no longer than this', parseSeconds)
      .option('--json', 'print JSON, with the answers'),
    [
      'troupe wait',
      'troupe wait 1a2b3c4d 5e6f7a8b --any',
      'troupe wait --timeout 60 || echo "not all completed"'
    ]
  ).action(async (ids: string[], flags: WaitFlags) =>
    exitAfter(flags, (host) => wait(host, ids, flags))
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
    report(`waiting for ${counted(agentIds.length, 'agent')}`);
  host.watch();
  const { finished, waiting, spoilt, lost, elapsedMs } = await waitShowing(
    host,
    {
      agentIds,
      isInterrupted: (waiting) => openAsks(host, waiting).length > 0,
      mode: flags.any ? 'any' : 'all',
      timeoutMs: 1000 * (flags.timeout ?? Number.POSITIVE_INFINITY),
      signal
    }
  );
  const interrupted = exitCode();
  if (interrupted !== undefined) {
    report('no longer waiting; the agents go on');
    return interrupted;
  }
  const enough = flags.any && finished.length > 0;
  const asks = enough ? [] : openAsks(host, waiting);
  process.exitCode = exitCodeOf(enough ? finished : [...finished, ...waiting]);
  for (const { problem } of spoilt)
    report(`${problem.message} ${problem.hint}`);
  for (const { message } of lost) report(message);
  if (spoilt.length + lost.length > 0 && !enough)
    process.exitCode ||= exitCodes.error;
  if (flags.json) {
    await printJson({
      status:
        lost.length > 0 && waiting.length === 0
          ? 'agents_lost'
          : asks.length > 0
            ? 'needs_answer'
            : statusOf(agentIds, waiting, enough === true),
      elapsed_seconds: Math.round(elapsedMs / 100) / 10,
      ...asksJson(asks),
      ...(await reportRuns(finished, host.store, host.tracker)),
      still_running: waiting.map(({ record }) => record.agent_id),
      ...(lost.length > 0 ? { lost: lost.map(lostJson) } : {})
    });
    for (const { record } of finished) noteRead(record.agent_id, host.store);
  } else if (agentIds.length === 0) report('nothing is running');
  else {
    const active = waiting.map((run) => withAsking(run, host));
    await print(listTable([...finished, ...active]));
    for (const ask of asks) await print(`\n${describeAsk(ask)}\n`);
  }
  return process.exitCode ?? exitCodes.done;
}

function openAsks(host: Host, waiting: Run[]): OpenAsk[] {
  return host.asks.open(waiting.map(({ record }) => record));
}

async function idsToWaitFor(host: Host, typed: string[]): Promise<string[]> {
  const named = typed.map((id) => agentIdIn(host.store, id));
  for (const id of named) if (!host.store.has(id)) throw noSuchAgent(id, host);
  refuseLineage(named, host.origin);
  if (named.length > 0) return [...new Set(named)];
  const active = await host.tracker.active();
  // A user waits for all agents, an agent only for the ones that it started.
  const scope = host.origin.isAgents() ? 'mine' : 'workspace';
  return inScope(active, scope, { isThere: () => false }, host).ids;
}

function lostJson({ agentId, message }: LostRun) {
  return { agent_id: agentId, message };
}

/** Shows the agents at work meanwhile, and reports each end. */
export async function waitShowing(
  host: Host,
  options: Omit<WaitOptions, 'onUpdate'>
): Promise<WaitResult> {
  const total = options.agentIds.length;
  const block = total > 0 ? openBlock() : undefined;
  const announce = announcer(total);
  const alert = new EndAlert(host.config.onEnd, process.stderr);
  const onUpdate = (finished: Run[], waiting: Run[]) => {
    block?.show(host, waiting);
    announce(finished);
    alert.report(finished);
  };
  return waitWatching(host, { ...options, onUpdate }).finally(() =>
    block?.close()
  );
}

/** Returns a function that reports each ended agent once. */
function announcer(total: number): (finished: Run[]) => void {
  const announced = new Set<string>();
  return (finished) => {
    for (const run of finished) {
      if (announced.has(run.record.agent_id)) continue;
      announced.add(run.record.agent_id);
      report(`${announced.size} of ${total}: ${describeOutcome(run)}`);
    }
  };
}

function statusOf(agentIds: string[], waiting: Run[], enough: boolean) {
  if (agentIds.length === 0) return 'no_agents_running';
  if (waiting.length === 0) return 'all_completed';
  return enough ? 'any_completed' : 'timeout';
}

interface WaitOptions {
  agentIds: string[];
  mode: 'all' | 'any';
  /** Infinity for no limit. */
  timeoutMs: number;
  signal: AbortSignal;
  /** Ends the wait early, such as when an awaited run asks. */
  isInterrupted?: ((waiting: Run[]) => boolean) | undefined;
  /** Called after each slice, two or three times a second. */
  onUpdate: (finished: Run[], waiting: Run[]) => void | Promise<void>;
}

const sliceMs = 400;

/**
 * Waits in short slices, so that the caller can show the progress.
 * @throws HostError `storage_full` when an end cannot be recorded
 */
export async function waitWatching(
  host: Host,
  { agentIds, mode, timeoutMs, signal, onUpdate, isInterrupted }: WaitOptions
): Promise<WaitResult> {
  const startedAt = performance.now();
  // `troupe clean` may remove an ended agent while others still run.
  const ended = new Map<string, Run>();
  for (;;) {
    const left = timeoutMs - (performance.now() - startedAt);
    const result = await host.wait({
      agentIds,
      mode,
      timeoutMs: Math.max(0, Math.min(sliceMs, left)),
      signal,
      isInterrupted
    });
    const { waiting } = result;
    for (const run of result.finished) ended.set(run.record.agent_id, run);
    const lost = result.lost.filter(({ agentId }) => !ended.has(agentId));
    const missing = result.missing.filter((id) => !ended.has(id));
    const finished = agentIds.flatMap((id) => ended.get(id) ?? []);
    await onUpdate(finished, waiting);
    const enough =
      waiting.length + missing.length === 0 ||
      (mode === 'any' && finished.length > 0);
    const known = [
      ...[...finished, ...waiting].map((run) => run.record.agent_id),
      ...[...result.spoilt, ...lost].map(({ agentId }) => agentId)
    ];
    const unknown = agentIds.find((id) => !known.includes(id));
    if (unknown !== undefined) throw noSuchAgent(unknown, host);
    const isOver = left <= sliceMs || signal.aborted;
    if (enough || isOver || isInterrupted?.(waiting))
      return {
        ...result,
        lost,
        finished,
        elapsedMs: performance.now() - startedAt
      };
  }
}
