import { isStray } from '../core/engines/plugin-exits.ts';
import { createCouncil } from './commands/council.ts';
import { tellError } from './error-report.ts';
import { tell } from './output.ts';
import { exitWith, stayQuietWithoutReader } from './process-end.ts';
import { createProgram } from './program.ts';
import { describeError, exitCodes } from './shared.ts';
import { checkCommand, isHelp } from './usage-error.ts';

stayQuietWithoutReader();
process.on('uncaughtException', (error) => {
  tell(describeError(error));
  // A plugin's own timer or promise is no reason to end.
  if (!isStray(error)) process.exit(exitCodes.error);
});

const [, script = '', command, ...rest] = process.argv;

async function main(): Promise<unknown> {
  if (command === 'council')
    return createCouncil().parseAsync([process.execPath, script, ...rest]);
  const program = createProgram();
  if (command === undefined) return program.outputHelp();
  if (command === 'help' && rest[0] !== undefined)
    checkCommand(program, rest[0]);
  return program.parseAsync(process.argv);
}

main().catch(async (error: unknown) => {
  if (isHelp(error)) return exitWith(exitCodes.done);
  await tellError(error, process.argv.slice(2));
  return exitWith(exitCodes.error);
});
