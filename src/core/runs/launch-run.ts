import { appendFileSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { EngineFault } from '../engines/engine-fault.ts';
import { messageOf } from '../errors.ts';
import {
  type ProgramDependencies,
  programOf,
  silenceLimitOf
} from './program.ts';
import { notPrepared } from './run.ts';
import { addEvent, claimNeverStarts } from './run-files.ts';
import type { Waiting } from './run-queue.ts';
import { type StdinDependencies, tellAnew } from './stdin.ts';

export interface LaunchDependencies
  extends ProgramDependencies,
    StdinDependencies {}

/**
 * Starts a run's process under its supervisor. Settles when that has ended,
 * or could not begin; never rejects.
 */
export async function launchRun(
  waiting: Waiting,
  directory: string,
  dependencies: LaunchDependencies
): Promise<void> {
  const { record, request, engine } = waiting;
  try {
    // Else the system would say that the program is missing.
    if (!existsSync(record.cwd)) throw new Error(`${record.cwd} is gone`);
    tellAnew(waiting, dependencies);
    addEvent(directory, { type: 'started', engine: engine.name });
    await dependencies.processes.launch({
      agentId: record.agent_id,
      directory,
      ...programOf(engine, request, record, directory, dependencies),
      cwd: record.cwd,
      timeoutSeconds: record.timeout_seconds,
      idleTimeoutSeconds: silenceLimitOf(record),
      outputLimitBytes: record.output_limit_bytes,
      stopWithUs: record.on_disconnect === 'stop'
    }).ended;
  } catch (error) {
    const isFault = error instanceof EngineFault;
    notLaunched(directory, error, isFault ? notPrepared : undefined);
  }
}

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
