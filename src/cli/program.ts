import { Command } from 'commander';
import { version } from '../version.ts';
import { addCancel } from './commands/cancel.ts';
import { addClean } from './commands/clean.ts';
import { addCompletion } from './commands/completion.ts';
import { addConfig } from './commands/config.ts';
import { createCouncil } from './commands/council.ts';
import { addDoctor } from './commands/doctor.ts';
import { addEngines } from './commands/engines.ts';
import { addInit } from './commands/init.ts';
import { addList } from './commands/list.ts';
import { addLog } from './commands/log.ts';
import { addMcpHelp } from './commands/mcp-help.ts';
import { addRecord } from './commands/record.ts';
import { addResult } from './commands/result.ts';
import { addRoles } from './commands/roles.ts';
import { addRun } from './commands/run.ts';
import { addTrust } from './commands/trust.ts';
import { addWait } from './commands/wait.ts';
import { addWatch } from './commands/watch.ts';
import { refuseEmptyFlags, throwUsageErrors } from './usage-error.ts';

/** The command line, `troupe mcp` aside: that is a program of its own. */
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
  addList(program);
  addResult(program);
  addWait(program);
  addWatch(program);
  addCancel(program);
  program.commandsGroup('What happened, and what is left of it:');
  addLog(program);
  addClean(program);
  addRecord(program);
  program.commandsGroup('What there is, and setting it up:');
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

/** A command and its arguments; that it has options goes without saying. */
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
