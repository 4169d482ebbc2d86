import { text as readAll } from 'node:stream/consumers';
import { type Command, Option } from 'commander';
import type { Config } from '../../config.ts';
import { labelOf } from '../../core/engines/engine-registry.ts';
import { HostError } from '../../core/errors.ts';
import { noteRead } from '../../core/runs/read-mark.ts';
import { reportRun } from '../../core/runs/report.ts';
import type { Run } from '../../core/runs/run.ts';
import type { Host } from '../../host.ts';
import type { Access, Engine } from '../../plugin.ts';
import { describeMoment, openBlock } from '../live/agent-block.ts';
import { describeOutcome } from '../outcome.ts';
import { colorsFor, printAnswer, printJson, tell } from '../output.ts';
import {
  catchInterruption,
  exitWith,
  type Interruption
} from '../process-end.ts';
import {
  addWorkspaceFlags,
  examples,
  exitCodes,
  type JsonFlag,
  parseSeconds,
  type WorkspaceFlags,
  withHost
} from '../shared.ts';
import { duration, oneLine } from '../text.ts';
import { waitWatching } from '../waiting.ts';

interface RunFlags extends WorkspaceFlags, JsonFlag {
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
      .option('--json', 'print the outcome as JSON')
  )
    .addHelpText(
      'after',
      examples([
        'troupe run claude "explain src/host.ts" --access read',
        'git diff | troupe run codex - --system-prompt "Review this change."',
        'troupe run rehearsal "say hello"   # asks no model'
      ])
    )
    .action(
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
  // Naming an engine that is off by default switches it on.
  const switchOn = (config: Config): Config => ({
    ...config,
    alsoEngines: [engine]
  });
  return withHost(
    flags,
    async (host) => {
      const { registry } = host;
      refuseIdleFlags(registry.get(engine, registry.nameable()), flags);
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
      if (warning) tell(warning);
      const ended = await follow(host, record.agent_id, interruption);
      // What IAC.md says is true before the answer is out.
      await host.attend();
      return conclude(host, ended, interruption, flags);
    },
    switchOn
  );
}

/** What an engine cannot heed must not look as if it did. */
function refuseIdleFlags(engine: Engine, flags: RunFlags): void {
  if (engine.kind === 'cli') return;
  const idle = (['access', 'cwd'] as const).find((flag) => flags[flag]);
  if (!idle) return;
  throw new HostError(
    'invalid_input',
    `${labelOf(engine)} is an API and works on no files: --${idle} means nothing to it.`,
    'Leave it out.'
  );
}

/** Waits for the agent and tells what it does; ends it at Ctrl-C. */
async function follow(
  host: Host,
  agentId: string,
  { signal, beforeEnd }: Interruption
): Promise<Run> {
  host.watch();
  // Who presses Ctrl-C twice wants it ended all the more.
  beforeEnd(() => host.processes.stopAlone(host.store.directoryOf(agentId)));
  const began = performance.now();
  const { dim } = colorsFor(process.stderr);
  let shown = '';
  /** What the block tells now is printed when it is past. */
  let untold = '';
  const print = (line: string) => {
    if (line !== '') process.stderr.write(line);
  };
  const run = await host.tracker.run(agentId);
  if (run && isStarted(run)) tell(describeStart(run));
  const block = openBlock();
  const onLook = async (_: Run[], runs: Run[]) => {
    await block?.show(host, runs);
    const [run] = runs;
    if (!run) return;
    const now = await describeMoment(host, run);
    if (now === shown) return;
    shown = now;
    const seconds = (performance.now() - began) / 1000;
    const line = `${dim(`${duration(seconds).padStart(8)}  ${now}`)}\n`;
    print(block ? untold : line);
    untold = block ? line : '';
  };
  const { finished } = await waitWatching(host, {
    agentIds: [agentId],
    mode: 'all',
    timeoutMs: Number.POSITIVE_INFINITY,
    signal,
    onLook
  }).finally(() => {
    block?.close();
    print(untold);
  });
  const ended = finished[0] ?? (await host.cancel(agentId, 'interrupted'));
  if (!ended) throw new Error(`The folder of agent ${agentId} is gone.`);
  return ended;
}

/** It may also have ended by now; of one that never began there is no start. */
function isStarted({ outcome }: Run): boolean {
  return !outcome || outcome.started_at !== null;
}

function describeStart({ record }: Run): string {
  const { label, agent_id, access, enforcement, timeout_seconds } = record;
  const place = record.worktree ? `, in ${record.worktree.path}` : '';
  const model = record.model === null ? '' : ` (${oneLine(record.model)})`;
  const held = record.kind === 'api' ? '' : `, access ${access} ${enforcement}`;
  return `${label}${model} ${agent_id}${held}${place}, timeout ${timeout_seconds} s`;
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
  tell(describeOutcome(run));
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
