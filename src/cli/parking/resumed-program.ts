import { spawn } from 'node:child_process';
import { writeSync } from 'node:fs';
import { constants } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import {
  callOf,
  type Parked,
  parkedOf,
  type ResumeFacts,
  resumedType,
  unpark
} from '../../core/asks/parking.ts';
import { errnoOf } from '../../core/errors.ts';
import { type Answered, isPassing } from './parked-program.ts';
import { resumePrompt } from './resume-prompt.ts';

const againMs = 1000;

/**
 * Starts the program again in its session, with the answers as its prompt.
 * Resolves with its exit code, as a shell has it.
 */
export async function continueProgram(
  directory: string,
  parked: Parked,
  { command, args, placeholder }: ResumeFacts,
  answered: Answered[]
): Promise<number> {
  const prompt = resumePrompt(
    answered.map(({ ask, answer }) => ({
      ...{ ask, answer },
      call: callOf(directory, ask)
    }))
  );
  // An unfinished line of the ended program must not run on.
  await print(`\n${JSON.stringify({ type: resumedType })}\n`);
  await repeated(() => unpark(directory, parked));
  // From here on, the program decides how the run ends. It gets its own signal,
  // except from the process that parks the run, which sees this one alone.
  for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
    process.on(name, () => {
      if (parkedOf(directory)) child.kill('SIGTERM');
    });
  const words = args.map((word) =>
    word.replaceAll(placeholder, parked.session)
  );
  const child = spawn(command, words, {
    stdio: ['pipe', 'inherit', 'inherit']
  });
  return new Promise((resolve) => {
    child.on('error', (error) => {
      process.stderr.write(`troupe: ${error.message}\n`);
      resolve(errnoOf(error) === 'ENOENT' ? 127 : 126);
    });
    child.on('exit', (code, signal) =>
      resolve(code ?? 128 + (signal ? constants.signals[signal] : 0))
    );
    child.stdin.on('error', () => undefined);
    child.stdin.end(prompt);
  });
}

/** Waits for space while the disk is full. */
async function print(text: string): Promise<void> {
  let rest = Buffer.from(text);
  await repeated(() => {
    while (rest.length > 0) rest = rest.subarray(writeSync(1, rest));
  });
}

async function repeated(work: () => void): Promise<void> {
  for (;;)
    try {
      work();
      return;
    } catch (error) {
      if (!isPassing(error)) throw error;
      await delay(againMs);
    }
}
