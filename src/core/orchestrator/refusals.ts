import { EngineFault } from '../engines/engine-fault.ts';
import { HostError, messageOf } from '../errors.ts';
import { ofAgent } from '../runs/words.ts';
import type { WorkerMeta } from './records.ts';

/** In characters: what is longer is no line for people. */
const longestLine = 300;

/** A worker that never asked for work; its last lines may say why. */
export function notReady(
  { name, engine, agent_id }: WorkerMeta,
  problem: string,
  lines: string[]
): HostError {
  const shown = lines.length > 0 ? '' : ' It has said nothing.';
  return new HostError(
    'not_ready',
    `The worker "${name}" (${engine}, ${agent_id}) is not ready: ${problem}.${shown}`,
    `Nothing of it is left running; screen shows its last lines. Start ${engine} once by hand in that directory to see what it wants, then create the worker again.`,
    { ...ofAgent, screen: lines.map((line) => line.slice(0, longestLine)) }
  );
}

/** A worker whose program never began, or never could. */
export function notStarted(
  { name, engine, agent_id }: WorkerMeta,
  error: unknown
): HostError {
  return new HostError(
    'not_ready',
    `The worker "${name}" (${engine}, ${agent_id}) could not be started. ${messageOf(error)}`,
    error instanceof EngineFault
      ? 'Nothing of it is left. Mend that plugin, or create the worker with another engine.'
      : 'Nothing of it is left. Mend that, then create the worker again.'
  );
}

export function agentOver(agentId: string, state: string): HostError {
  return new HostError(
    'agent_over',
    `Worker ${agentId} is ${state} and takes no tasks.`,
    'Nothing was recorded. Give the task to another worker, or create one with agent_create.'
  );
}

export function needsConfirm(agentId: string, taskId: string): HostError {
  return new HostError(
    'needs_confirm',
    `Worker ${agentId} is at work on task ${taskId}.`,
    'With force it ends amid that task: say confirm: true, too. Without force it finishes first.'
  );
}

export function unknownTask(taskId: string): HostError {
  return new HostError(
    'unknown_task',
    `This worker has no task ${taskId}.`,
    'Give a task_id as task_enqueue and wait_for_command tell it; events_read shows all.'
  );
}

export function alreadyDone(taskId: string): HostError {
  return new HostError(
    'already_done',
    `Task ${taskId} has ended already.`,
    'Nothing was recorded; its end stands in the events.'
  );
}
