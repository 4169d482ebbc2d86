import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../errors.ts';
import { claimNeverStarts } from './run-files.ts';

/**
 * The system refused the process: told like any engine that can't start.
 * Never throws: on a full disk the run is found lost, and its place is free.
 */
export function notLaunched(
  directory: string,
  error: unknown,
  exitCode = 126
): void {
  const message = messageOf(error);
  try {
    if (!claimNeverStarts(directory)) return;
    appendFileSync(join(directory, 'stderr'), `troupe: ${message}\n`);
    writeFileSync(join(directory, 'exit'), `${exitCode}\n`);
  } catch {
    return;
  }
}
