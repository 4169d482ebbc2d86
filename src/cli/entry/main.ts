import { isStray } from '../../core/engines/load/plugin-isolation.ts';
import { diskError, HostError } from '../../core/errors.ts';
import { visibleJson } from '../../core/text.ts';
import { describeError, exitCodes } from '../commands/command-options.ts';
import { createCouncil } from '../commands/serve/server-commands.ts';
import { hasPrinted, print, report } from '../output/output.ts';
import { exitWith, stayQuietWithoutReader } from '../process/process-end.ts';
import { checkCommand, createProgram, isHelp } from './program.ts';

stayQuietWithoutReader();
process.on('uncaughtException', (error) => {
  report(describeError(error));
  // An error in a timer or promise of a plugin does not end the process.
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
  await reportError(diskError(error, `troupe ${command}`) ?? error);
  return exitWith(exitCodes.error);
});

/**
 * Prints an error to stderr. With --json, also prints it to stdout as one line
 * of JSON, unless stdout already has output.
 */
async function reportError(error: unknown): Promise<void> {
  const args = process.argv.slice(2);
  const end = args.indexOf('--');
  const flags = end < 0 ? args : args.slice(0, end);
  if (flags.includes('--json') && !hasPrinted())
    await print(`${visibleJson({ error: documentOf(error) })}\n`);
  report(describeError(error));
}

function documentOf(error: unknown) {
  if (!(error instanceof HostError))
    return {
      code: 'internal',
      message: describeError(error),
      hint: 'Set TROUPE_DEBUG=1 to see where it comes from, and report it.'
    };
  const { code, message, hint } = error;
  return { code, message, hint };
}
