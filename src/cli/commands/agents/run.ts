import { type Command, Option } from 'commander';
import { labelOf } from '../../../core/engines/engine-registry.ts';
import { HostError } from '../../../core/errors.ts';
import type { Access, Engine } from '../../../plugin/plugin.ts';
import { exitWith } from '../../process/process-end.ts';
import { addWorkspaceFlags, parseSeconds } from '../command-options.ts';
import {
  addStartFlags,
  promptFrom,
  type StartFlags,
  startAgent
} from './follow.ts';

interface RunFlags extends StartFlags {
  model?: string;
  access?: Access;
  timeout?: number;
  cwd?: string;
  systemPrompt?: string;
  isolate?: boolean;
  ask?: 'coordinator' | 'person' | 'none';
  askTimeout?: number;
}

export function addRun(program: Command): void {
  addWorkspaceFlags(
    addStartFlags(
      program
        .command('run')
        .description('run one agent and print its answer')
        .argument('<engine>', 'see: troupe engines')
        .argument(
          '[prompt]',
          'the task; read from stdin when it is - or missing'
        )
        .option('--model <name>', "the engine's model")
        .addOption(
          new Option(
            '--access <level>',
            'look, change files, or anything (default: full)'
          ).choices(['read', 'write', 'full'])
        )
        .option(
          '--timeout <seconds>',
          'stop the agent after this',
          parseSeconds
        )
        .addOption(
          new Option(
            '--ask <whom>',
            'let it ask for more than its access (default: none)'
          ).choices(['coordinator', 'person', 'none'])
        )
        .option(
          '--ask-timeout <seconds>',
          'refuse what is not answered by then (default: 600)',
          parseSeconds
        )
        .option('--cwd <dir>', 'directory inside the workspace to work in')
        .option('--isolate', 'in a git worktree and branch of its own')
        .option('--system-prompt <text>', 'put before the task')
    ),
    [
      'troupe run claude "explain src/host.ts" --access read',
      'git diff | troupe run codex - --system-prompt "Review this change."',
      'id=$(troupe run codex "fix the tests" --isolate -b); troupe wait $id',
      'troupe run rehearsal "say hello"   # asks no model'
    ]
  ).action(
    async (engine: string, prompt: string | undefined, flags: RunFlags) =>
      exitWith(await run(engine, await promptFrom(prompt), flags))
  );
}

function run(engine: string, prompt: string, flags: RunFlags): Promise<number> {
  return startAgent(
    flags,
    () => engine,
    (host) => {
      const { registry } = host;
      refuseIgnoredFlags(registry.get(engine, registry.nameable()), flags);
      return host.spawn({
        engine,
        prompt,
        model: flags.model,
        access: flags.access,
        timeoutSeconds: flags.timeout,
        ask: flags.ask,
        askTimeoutSeconds: flags.askTimeout,
        cwd: flags.cwd,
        systemPrompt: flags.systemPrompt,
        isolate: flags.isolate ? 'worktree' : undefined
      });
    }
  );
}

/** @throws HostError `invalid_input` for a flag that the engine ignores */
function refuseIgnoredFlags(engine: Engine, flags: RunFlags): void {
  if (engine.kind === 'cli') return;
  const ignored = (['access', 'cwd'] as const).find((flag) => flags[flag]);
  if (!ignored) return;
  throw new HostError(
    'invalid_input',
    `${labelOf(engine)} is an API and does not work on files: --${ignored} has no effect.`,
    'Leave it out.'
  );
}
