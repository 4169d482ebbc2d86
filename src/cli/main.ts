import { isStray } from '../core/engines/plugin-exits.ts';
import { createCouncil } from './commands/council.ts';
import { tell } from './output.ts';
import { exitWith, stayQuietWithoutReader } from './process-end.ts';
import { createProgram } from './program.ts';
import { describeError, exitCodes } from './shared.ts';

stayQuietWithoutReader();
process.on('uncaughtException', (error) => {
  tell(describeError(error));
  // A plugin's own timer or promise is no reason to end.
  if (!isStray(error)) process.exit(exitCodes.error);
});
const [, script = '', command, ...rest] = process.argv;
const program =
  command === 'council'
    ? createCouncil().parseAsync([process.execPath, script, ...rest])
    : createProgram().parseAsync(process.argv);
program.catch((error: unknown) => {
  tell(describeError(error));
  return exitWith(exitCodes.error);
});
