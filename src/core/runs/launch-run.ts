import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { EngineFault } from '../engines/engine-fault.ts';
import { messageOf } from '../errors.ts';
import { appendTo, writeOver } from '../state/own-file.ts';
import { checkStillInside } from './containment.ts';
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
    StdinDependencies {
  workspace: string;
}

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
    checkStillInside(dependencies.workspace, record.cwd);
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

/** So often a run is tried to be ended that could not be: see below. */
const againMs = 1000;

/**
 * The system refused the process: told like any engine that can't start.
 * Never throws: without room or a descriptor to tell it, it is told later.
 */
export function notLaunched(
  directory: string,
  error: unknown,
  exitCode = 126
): void {
  const message = messageOf(error);
  try {
    if (!claimNeverStarts(directory)) return;
    appendTo(join(directory, 'stderr'), `troupe: ${message}\n`);
    writeOver(join(directory, 'exit'), `${exitCode}\n`);
  } catch {
    if (!existsSync(directory)) return;
    const again = () => notLaunched(directory, error, exitCode);
    setTimeout(again, againMs).unref();
  }
}
