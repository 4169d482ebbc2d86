import { type Command, Option } from 'commander';
import { HostError } from '../../../core/errors.ts';
import { didYouMean } from '../../../core/nearest.ts';
import { version } from '../../../host/package.ts';
import { isNowhere, workspaceOf } from '../../../host/workspace-root.ts';
import { type Client, clients } from '../../clients/clients.ts';
import {
  Canceled,
  plainScreen,
  questionsOf,
  quietScreen,
  type SetUpFlags,
  terminalScreen
} from '../../init/dialog.ts';
import { setUp } from '../../init/set-up.ts';
import { exitWith } from '../../process/process-end.ts';
import { examples, isInteractive } from '../command-options.ts';

interface InitFlags extends SetUpFlags {
  workspace?: string;
}

export function addInit(program: Command): void {
  program
    .command('init')
    .description('add troupe to the settings of MCP clients, and try it')
    .argument('[client...]', clients.map(({ name }) => name).join(', '))
    .option(
      '--workspace <dir>',
      'the project (default: CLAUDE_PROJECT_DIR, else the current directory)'
    )
    .addOption(
      new Option(
        '--access <level>',
        'what agents may do at most here; goes into the configuration'
      ).choices(['read', 'write', 'full'])
    )
    .option('--user', 'for all your projects: the settings in your home')
    .option('--hooks', 'also add the hook and status line of Claude Code')
    .option('--dry-run', 'only show what would be written')
    .option('-y, --yes', 'do not ask; needed in a pipe')
    .addOption(
      new Option('--remove', 'take troupe out of the settings again').conflicts(
        ['access', 'engine', 'hooks']
      )
    )
    .option('--no-check', 'do not start the server, nor a first agent')
    .option(
      '--engine <name>',
      'who does the first task (with --yes: rehearsal, which asks no model)'
    )
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      examples([
        'troupe init                # asks which clients, shows what changes',
        'troupe init claude codex --access write',
        'troupe init --yes          # all clients that are found',
        'troupe init claude --user  # for all projects',
        'troupe init codex --remove'
      ])
    )
    .action(async (names: string[], flags: InitFlags) =>
      exitWith(await init(names, flags))
    );
}

async function init(names: string[], flags: InitFlags): Promise<number> {
  const workspace = workspaceOf(flags, process.env);
  if (flags.workspace === undefined && isNowhere(workspace))
    throw new HostError(
      'invalid_input',
      `The directory ${workspace} does not say which project is meant.`,
      'Call it in the project, or give --workspace.'
    );
  const named = [...new Set(names)].map(clientNamed);
  if (!isInteractive(flags)) {
    const screen = flags.json ? quietScreen : plainScreen;
    return setUp(named, { workspace, flags, screen });
  }
  const clack = await import('@clack/prompts');
  const screen = terminalScreen(clack);
  screen.begin(`troupe ${version} for ${workspace}`);
  try {
    const questions = flags.yes ? undefined : questionsOf(clack);
    return await setUp(named, { workspace, flags, screen, questions });
  } catch (error) {
    if (!(error instanceof Canceled)) throw error;
    screen.end(error.message);
    return interrupted;
  }
}

const interrupted = 130;

function clientNamed(name: string): Client {
  const client = clients.find((one) => one.name === name);
  if (client) return client;
  const names = clients.map((one) => one.name);
  throw new HostError(
    'invalid_input',
    `There is no client "${name}".`,
    `${didYouMean(name, names)}Use one of: ${names.join(', ')}.`
  );
}
