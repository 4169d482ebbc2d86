import { Command, CommanderError } from 'commander';
import { HostError } from '../../core/errors.ts';
import { didYouMean } from '../../core/nearest.ts';
import { version } from '../../host/package.ts';
import { addAsk } from '../commands/agents/ask.ts';
import { addAsks } from '../commands/agents/asks.ts';
import { addCancel } from '../commands/agents/cancel.ts';
import { addClean } from '../commands/agents/clean.ts';
import { addContinue } from '../commands/agents/continue.ts';
import { addList } from '../commands/agents/list.ts';
import { addLog } from '../commands/agents/log.ts';
import { addNotify } from '../commands/agents/notify.ts';
import { addRecord } from '../commands/agents/record.ts';
import { addResult } from '../commands/agents/result.ts';
import { addRun } from '../commands/agents/run.ts';
import { addWait } from '../commands/agents/wait.ts';
import { addWatch } from '../commands/agents/watch.ts';
import { addApply } from '../commands/changes/apply.ts';
import { addDiff } from '../commands/changes/diff.ts';
import { addReport } from '../commands/report/report.ts';
import { emptyFlag, isBlank } from '../commands/serve/served-flags.ts';
import {
  addMcpHelp,
  addStatuslineHelp,
  addWebHelp,
  createCouncil
} from '../commands/serve/server-commands.ts';
import { addCompletion } from '../commands/setup/completion.ts';
import { addConfig } from '../commands/setup/config.ts';
import { addDoctor } from '../commands/setup/doctor.ts';
import { addEngines } from '../commands/setup/engines.ts';
import { addInit } from '../commands/setup/init.ts';
import { addRoles } from '../commands/setup/roles.ts';
import { addTrust } from '../commands/setup/trust.ts';

/** All commands. `troupe mcp` is here only for help: mcp-entry.ts runs it. */
export function createProgram(): Command {
  const program = new Command('troupe')
    .description(
      'Starts coding agents, follows them and keeps a log of what they did.'
    )
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand('help [command]', 'print help about a command')
    .configureHelp({ subcommandTerm: termOf })
    .addHelpText('after', firstSteps)
    .hook('preAction', (_, command) => refuseEmptyFlags(command));
  program.commandsGroup('Agents:');
  addRun(program);
  addContinue(program);
  addAsk(program);
  addList(program);
  addResult(program);
  addDiff(program);
  addApply(program);
  addWait(program);
  addWatch(program);
  addWebHelp(program);
  addAsks(program);
  addCancel(program);
  addNotify(program);
  addStatuslineHelp(program);
  program.commandsGroup('History and record:');
  addLog(program);
  addReport(program);
  addClean(program);
  addRecord(program);
  program.commandsGroup('Setup and status:');
  addInit(program);
  addTrust(program);
  addDoctor(program);
  addEngines(program);
  addRoles(program);
  addConfig(program);
  addCompletion(program);
  addMcpHelp(program);
  program.addCommand(createCouncil());
  throwUsageErrors(program, '');
  return program;
}

/** A command and its arguments, without the `[options]` of commander. */
function termOf(command: Command): string {
  const words = command.registeredArguments.map((argument) => {
    const name = `${argument.name()}${argument.variadic ? '...' : ''}`;
    return argument.required ? `<${name}>` : `[${name}]`;
  });
  return [command.name(), ...words].join(' ');
}

const firstSteps = `
First steps:
  $ troupe doctor   # which engines are ready, and what the others need
  $ troupe init     # adds troupe to Claude Code, Codex, Gemini CLI and others
  $ troupe run claude "explain this repository" --access read

"troupe help COMMAND" shows the flags of a command, with examples.
`;

/**
 * Makes a command and its subcommands throw usage errors; commander itself
 * prints them and exits.
 */
export function throwUsageErrors(command: Command, path: string): void {
  command
    .configureOutput({ outputError: () => undefined })
    .exitOverride((error) => {
      throw isHelp(error) ? error : usageError(error, path);
    });
  for (const one of command.commands)
    throwUsageErrors(one, path === '' ? one.name() : `${path} ${one.name()}`);
}

/** True when commander has printed the help or the version. */
export function isHelp(error: unknown): error is CommanderError {
  return error instanceof CommanderError && error.exitCode === 0;
}

/** @throws HostError `invalid_input` when there is no such command */
export function checkCommand({ commands }: Command, name: string): void {
  const names = commands.map((command) => command.name());
  if (name === 'help' || names.includes(name)) return;
  throw new HostError(
    'invalid_input',
    `There is no command "${name}".`,
    `${didYouMean(name, names)}See: troupe help`
  );
}

/**
 * Refuses an empty value, which is not the same as an omitted flag. Only the
 * value of a `<text>` flag may be empty.
 * @throws HostError `invalid_input`
 */
function refuseEmptyFlags(command: Command): void {
  const empty = command.options.find(
    (option) =>
      !option.flags.endsWith('<text>') &&
      isBlank(command.getOptionValue(option.attributeName()))
  );
  if (empty)
    throw new HostError(
      'invalid_input',
      ...emptyFlag(empty.long ?? empty.flags)
    );
}

function usageError({ message }: CommanderError, path: string): HostError {
  const [first = '', meant] = message
    .replace(/^error: /, '')
    .split('\n')
    .map((line) => line.trim());
  const suggestion =
    /^\((Did you mean .*)\)$/.exec(meant ?? '')?.[1] ?? choiceIn(first);
  return new HostError(
    'invalid_input',
    inOurWords(first),
    `${suggestion && `${suggestion.trim()} `}See: troupe help${path && ` ${path}`}`
  );
}

/** The sentences of commander, and ours in their place. */
const sentences: [commander: RegExp, ours: string][] = [
  [/^unknown command '(.*)'$/, 'There is no command "$1".'],
  [/^unknown option '(.*)'$/, 'There is no flag $1.'],
  [/^missing required argument '(.*)'$/, 'The argument <$1> is missing.'],
  [
    /^too many arguments(?: for '.*')?\. Expected (\d+) arguments? but got (\d+)\.$/,
    'Too many arguments: $1 expected, $2 given.'
  ],
  [
    /^option '.*?(--[\w-]+).*' argument missing$/,
    'The value of $1 is missing.'
  ],
  [
    /^option '.*?(--[\w-]+).*?' argument '(.*)' is invalid\. /,
    'Invalid value "$2" for $1. '
  ],
  [
    /^command-argument value '(.*)' is invalid for argument '(.*?)'\. /,
    'Invalid <$2> "$1". '
  ],
  [
    /^option '.*?(--[\w-]+).*?' cannot be used with option '.*?(--[\w-]+).*'$/,
    '$1 and $2 cannot be used together.'
  ],
  [/Allowed choices are (.*)\.$/, 'Use one of: $1.']
];

function inOurWords(sentence: string): string {
  return sentences.reduce(
    (text, [commander, ours]) => text.replace(commander, ours),
    sentence
  );
}

/** Suggests an allowed value in place of an invalid one; '' for none. */
function choiceIn(words: string): string {
  const found =
    /(?:value|argument) '([^']*)' is invalid\b.* Allowed choices are (.*)\.$/.exec(
      words
    );
  const [, word = '', allowed = ''] = found ?? [];
  return found ? didYouMean(word, allowed.split(', ')) : '';
}
