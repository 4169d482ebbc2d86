import { text as readAll } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import type { Command } from 'commander';
import { reportRun } from '../../../answers/format-run.ts';
import type { Config } from '../../../config/config.ts';
import { HostError } from '../../../core/errors.ts';
import { describeAccess, type Run } from '../../../core/runs/run.ts';
import { noteRead, startedAt } from '../../../core/runs/run-files.ts';
import type { Spawned } from '../../../core/runs/spawn-request.ts';
import { unknownAgent } from '../../../core/runs/start/continue-run.ts';
import { terminalLine } from '../../../core/text.ts';
import type { Host } from '../../../host/host.ts';
import type { StartedDocument } from '../../json/agent-documents.ts';
import { describeActivity, openBlock } from '../../live/agent-block.ts';
import { EndAlert } from '../../live/end-alert.ts';
import { describeOutcome } from '../../output/agents.ts';
import { describeChanges } from '../../output/changes.ts';
import {
  colorsFor,
  print,
  printAnswer,
  printJson,
  report
} from '../../output/output.ts';
import { duration } from '../../output/text.ts';
import {
  catchInterruption,
  type Interruption
} from '../../process/process-end.ts';
import {
  exitCodes,
  type JsonFlag,
  type WorkspaceFlags,
  withHost
} from '../command-options.ts';
import { waitWatching } from './wait.ts';

/** The flags of the commands that start one agent. */
export interface StartFlags extends WorkspaceFlags {
  background?: boolean;
}

export function addStartFlags(command: Command): Command {
  return command
    .option('-b, --background', 'print its id and return while it works')
    .option('--json', 'print the outcome as JSON; with -b, what has started');
}

/**
 * Starts an agent, and follows it to its end or leaves it at work.
 * @param engineOf the engine to switch on, which may be off by default
 */
export function startAgent(
  flags: StartFlags,
  engineOf: (config: Config) => string | undefined,
  start: (host: Host) => Promise<Spawned>
): Promise<number> {
  const interruption = catchInterruption();
  const beganAt = new Date();
  const adjust = (config: Config): Config => {
    const engine = engineOf(config);
    return {
      ...config,
      ...(engine === undefined ? {} : { alsoEngines: [engine] }),
      ...(flags.background ? { onDisconnect: 'keep' } : {})
    };
  };
  return withHost(
    flags,
    async (host) => {
      const { record, warning } = await start(host);
      if (warning) report(warning);
      if (flags.background)
        return leaveAtWork(host, record.agent_id, interruption, flags);
      const ended = await follow(host, record.agent_id, interruption);
      new EndAlert(host.config.onEnd, process.stderr, beganAt).report([ended]);
      // Updates IAC.md before the answer is printed.
      await host.attend();
      return conclude(host, ended, interruption, flags);
    },
    adjust
  );
}

/** The prompt of the command line, or else of stdin. */
export async function promptFrom(
  argument: string | undefined
): Promise<string> {
  const isAwaited = argument === undefined && process.stdin.isTTY;
  const isPiped = argument === undefined || argument === '-';
  const prompt =
    isPiped && !isAwaited ? await readAll(process.stdin) : argument;
  if (prompt !== undefined && prompt.trim() !== '') return prompt;
  throw new HostError(
    'invalid_input',
    'There is no prompt.',
    'Give it in quotes, or pipe it in.'
  );
}

const startPollMs = 50;

/**
 * Returns once the agent has started: its supervisor then needs no other
 * process. A queued agent needs this process until it has a slot.
 */
async function leaveAtWork(
  host: Host,
  id: string,
  { signal, exitCode }: Interruption,
  { json }: JsonFlag
): Promise<number> {
  host.watch();
  let run = await host.tracker.run(id);
  if (run?.status === 'queued')
    report('waiting for a free slot, or being prepared');
  const directory = host.store.directoryOf(id);
  while (run && !run.outcome && !startedAt(directory) && !signal.aborted) {
    await delay(startPollMs, undefined, { signal }).catch(() => undefined);
    run = await host.tracker.run(id);
  }
  if (signal.aborted) run = await host.cancel(id, 'interrupted');
  if (!run) throw unknownAgent(id, host.store);
  const { record, status, outcome } = run;
  process.exitCode =
    exitCode() ??
    (outcome && status !== 'completed' ? exitCodes.failed : exitCodes.done);
  if (json)
    await printJson<StartedDocument>({
      agent_id: id,
      agent_type: record.engine,
      model: outcome?.model ?? record.model ?? 'default',
      status
    });
  else await print(`${id}\n`);
  report(
    outcome
      ? describeOutcome(run)
      : `${describeStart(run)}; its answer: troupe wait ${id} && troupe result ${id}`
  );
  return process.exitCode;
}

/** Waits for the agent and shows its activity; cancels it on Ctrl-C. */
async function follow(
  host: Host,
  agentId: string,
  { signal, beforeEnd }: Interruption
): Promise<Run> {
  host.watch();
  // A second Ctrl-C ends this process, and has to end the agent as well.
  beforeEnd(() => host.processes.stopAlone(host.store.directoryOf(agentId)));
  const beganAt = performance.now();
  const { dim } = colorsFor(process.stderr);
  let shown = '';
  /** The activity that the block shows, printed when the next one begins. */
  let pending = '';
  const printLine = (line: string) => {
    if (line !== '') process.stderr.write(line);
  };
  const run = await host.tracker.run(agentId);
  if (run && isStarted(run)) report(describeStart(run));
  const block = openBlock();
  const onUpdate = (_: Run[], runs: Run[]) => {
    block?.show(host, runs);
    const [run] = runs;
    if (!run) return;
    const now = describeActivity(host, run);
    if (now === shown) return;
    shown = now;
    const seconds = (performance.now() - beganAt) / 1000;
    const line = `${dim(`${duration(seconds).padStart(8)}  ${now}`)}\n`;
    printLine(block ? pending : line);
    pending = block ? line : '';
  };
  const { finished } = await waitWatching(host, {
    agentIds: [agentId],
    mode: 'all',
    timeoutMs: Number.POSITIVE_INFINITY,
    signal,
    onUpdate
  }).finally(() => {
    block?.close();
    printLine(pending);
  });
  const ended = finished[0] ?? (await host.cancel(agentId, 'interrupted'));
  if (!ended) throw unknownAgent(agentId, host.store);
  return ended;
}

/** False for an agent that ended before its start. */
function isStarted({ outcome }: Run): boolean {
  return !outcome || outcome.started_at !== null;
}

function describeStart({ record }: Run): string {
  const { label, agent_id, access, enforcement, timeout_seconds } = record;
  const worktree = record.worktree ? `, in ${record.worktree.path}` : '';
  const model = record.model === null ? '' : ` (${terminalLine(record.model)})`;
  const limits =
    record.kind === 'api'
      ? ''
      : `, access ${describeAccess(access, enforcement)}`;
  return `${label}${model} ${agent_id}${limits}${worktree}, timeout ${timeout_seconds} s`;
}

async function conclude(
  host: Host,
  run: Run,
  interruption: Interruption,
  { json }: JsonFlag
): Promise<number> {
  const { record, outcome } = run;
  const { agent_id: id } = record;
  process.exitCode =
    run.status === 'completed'
      ? exitCodes.done
      : (interruption.exitCode() ?? exitCodes.failed);
  const isPrinted = json || interruption.exitCode() === undefined;
  if (json) await printJson(await reportRun(run, host.store, host.tracker));
  else if (outcome && isPrinted) await printAnswer(host.store, record, outcome);
  if (isPrinted) noteRead(id, host.store);
  report(describeOutcome(run));
  const changes = describeChanges(id, host.store.directoryOf(id));
  if (changes !== undefined) report(changes);
  return process.exitCode;
}
