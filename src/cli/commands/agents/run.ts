import { text as readAll } from 'node:stream/consumers';
import { type Command, Option } from 'commander';
import { reportRun } from '../../../answers/format-run.ts';
import type { Config } from '../../../config/config.ts';
import { labelOf } from '../../../core/engines/engine-registry.ts';
import { HostError } from '../../../core/errors.ts';
import { describeAccess, type Run } from '../../../core/runs/run.ts';
import { noteRead } from '../../../core/runs/run-store.ts';
import { unknownAgent } from '../../../core/runs/start/continue-run.ts';
import type { Host } from '../../../host/host.ts';
import type { Access, Engine } from '../../../plugin/plugin.ts';
import { describeActivity, openBlock } from '../../live/agent-block.ts';
import { EndAlert } from '../../live/end-alert.ts';
import { describeOutcome } from '../../output/agents.ts';
import {
  colorsFor,
  printAnswer,
  printJson,
  report
} from '../../output/output.ts';
import { duration, terminalLine } from '../../output/text.ts';
import {
  catchInterruption,
  exitWith,
  type Interruption
} from '../../process/process-end.ts';
import {
  addWorkspaceFlags,
  exitCodes,
  type JsonFlag,
  parseSeconds,
  type WorkspaceFlags,
  withHost
} from '../command-options.ts';
import { waitWatching } from './wait.ts';

interface RunFlags extends WorkspaceFlags {
  model?: string;
  access?: Access;
  timeout?: number;
  cwd?: string;
  systemPrompt?: string;
  isolate?: boolean;
}

export function addRun(program: Command): void {
  addWorkspaceFlags(
    program
      .command('run')
      .description('run one agent and print its answer')
      .argument('<engine>', 'see: troupe engines')
      .argument('[prompt]', 'the task; read from stdin when it is - or missing')
      .option('--model <name>', "the engine's model")
      .addOption(
        new Option(
          '--access <level>',
          'look, change files, or anything (default: full)'
        ).choices(['read', 'write', 'full'])
      )
      .option('--timeout <seconds>', 'stop the agent after this', parseSeconds)
      .option('--cwd <dir>', 'directory inside the workspace to work in')
      .option('--isolate', 'in a git worktree and branch of its own')
      .option('--system-prompt <text>', 'put before the task')
      .option('--json', 'print the outcome as JSON'),
    [
      'troupe run claude "explain src/host.ts" --access read',
      'git diff | troupe run codex - --system-prompt "Review this change."',
      'troupe run rehearsal "say hello"   # asks no model'
    ]
  ).action(
    async (engine: string, prompt: string | undefined, flags: RunFlags) =>
      exitWith(await run(engine, await promptFrom(prompt), flags))
  );
}

async function run(
  engine: string,
  prompt: string,
  flags: RunFlags
): Promise<number> {
  const interruption = catchInterruption();
  const startedAt = new Date();
  // The command line enables an engine that is off by default.
  const switchOn = (config: Config): Config => ({
    ...config,
    alsoEngines: [engine]
  });
  return withHost(
    flags,
    async (host) => {
      const { registry } = host;
      refuseIgnoredFlags(registry.get(engine, registry.nameable()), flags);
      const { record, warning } = await host.spawn({
        engine,
        prompt,
        model: flags.model,
        access: flags.access,
        timeoutSeconds: flags.timeout,
        cwd: flags.cwd,
        systemPrompt: flags.systemPrompt,
        isolate: flags.isolate ? 'worktree' : undefined
      });
      if (warning) report(warning);
      const ended = await follow(host, record.agent_id, interruption);
      new EndAlert(host.config.onEnd, process.stderr, startedAt).report([
        ended
      ]);
      // Updates IAC.md before the answer is printed.
      await host.attend();
      return conclude(host, ended, interruption, flags);
    },
    switchOn
  );
}

/** @throws HostError `invalid_input` for a flag that the engine ignores */
function refuseIgnoredFlags(engine: Engine, flags: RunFlags): void {
  if (engine.kind === 'cli') return;
  const ignored = (['access', 'cwd'] as const).find((flag) => flags[flag]);
  if (!ignored) return;
  throw new HostError(
    'invalid_input',
    `${labelOf(engine)} is an API and works on no files: --${ignored} means nothing to it.`,
    'Leave it out.'
  );
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
  const startedAt = performance.now();
  const { dim } = colorsFor(process.stderr);
  let shown = '';
  /** The activity that the block shows, printed when the next one begins. */
  let pending = '';
  const print = (line: string) => {
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
    const seconds = (performance.now() - startedAt) / 1000;
    const line = `${dim(`${duration(seconds).padStart(8)}  ${now}`)}\n`;
    print(block ? pending : line);
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
    print(pending);
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
  return process.exitCode;
}

async function promptFrom(argument: string | undefined): Promise<string> {
  const isAwaited = argument === undefined && process.stdin.isTTY;
  const isPiped = argument === undefined || argument === '-';
  const prompt =
    isPiped && !isAwaited ? await readAll(process.stdin) : argument;
  if (prompt !== undefined && prompt.trim() !== '') return prompt;
  throw new HostError(
    'invalid_input',
    'There is no prompt.',
    'Give it in quotes after the engine, or pipe it in.'
  );
}
