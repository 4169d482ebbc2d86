/**
 * `node parked.cjs <folder> <code>`: takes the place of a program that was ended
 * while its agent waits for answers. It is small, waits for them, and starts the
 * program again in its session. `code` is how the program ended. This process
 * ends with the exit code of the program that it started.
 */
import {
  hadEnded,
  parkedOf,
  resumeFactsOf,
  unpark
} from '../../core/asks/parking.ts';
import { untilAnswered, untilCleared } from '../parking/parked-program.ts';
import { continueProgram } from '../parking/resumed-program.ts';

const [directory = '', code = ''] = process.argv.slice(2);

void run().then((exitCode) => process.exit(exitCode));

async function run(): Promise<number> {
  const parked = parkedOf(directory);
  const facts = resumeFactsOf(directory);
  if (!parked || !facts) return Number(code);
  await untilCleared(directory, parked);
  // The run ends as its program did.
  if (hadEnded(directory)) {
    unpark(directory, { ...parked, asks: [] });
    return Number(code);
  }
  const asks = await untilAnswered(directory, parked);
  return continueProgram(directory, parked, facts, asks);
}
