import { Command } from 'commander';
import { version } from '../version.ts';
import { addCancel } from './commands/cancel.ts';
import { createCouncil } from './commands/council.ts';
import { addDoctor } from './commands/doctor.ts';
import { addEngines } from './commands/engines.ts';
import { addList } from './commands/list.ts';
import { addLog } from './commands/log.ts';
import { addMcpHelp } from './commands/mcp-help.ts';
import { addResult } from './commands/result.ts';
import { addRoles } from './commands/roles.ts';
import { addRun } from './commands/run.ts';
import { addWait } from './commands/wait.ts';
import { examples } from './shared.ts';

/** The command line, `troupe mcp` aside: that is a program of its own. */
export function createProgram(): Command {
  const program = new Command('troupe')
    .description(
      'Starts coding agents, follows them and keeps a log of what they did.'
    )
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand('help [command]', 'print help about a command')
    .configureOutput({
      outputError: (text, write) => write(text.replace(/^error: /, 'troupe: '))
    })
    .addHelpText(
      'after',
      examples([
        'troupe doctor',
        'troupe run claude "explain this repository"',
        'troupe list',
        'troupe help run'
      ])
    );
  addMcpHelp(program);
  addRun(program);
  addList(program);
  addResult(program);
  addWait(program);
  addCancel(program);
  addLog(program);
  addEngines(program);
  addRoles(program);
  addDoctor(program);
  program.addCommand(createCouncil());
  return program;
}
