import { tell } from './output.ts';
import { exitWith, stayQuietWithoutReader } from './process-end.ts';
import { createProgram } from './program.ts';
import { describeError, exitCodes } from './shared.ts';

stayQuietWithoutReader();
createProgram()
  .parseAsync(process.argv)
  .catch((error: unknown) => {
    tell(describeError(error));
    return exitWith(exitCodes.error);
  });
