import { HostError } from '../errors.ts';
import { type NewEvent, ownTypes, terminalTypes } from './records.ts';
import { alreadyDone, unknownTask } from './refusals.ts';
import type { TaskQueue } from './task-queue.ts';

export interface EmitEvent {
  type: string;
  taskId?: string | undefined;
  payload?: unknown;
  done?: boolean | undefined;
}

/** @throws HostError `invalid_input` for what the type does not allow */
export function checkType({ type, done }: EmitEvent): void {
  const isTerminal = terminalTypes.includes(type);
  if (ownTypes.includes(type))
    throw new HostError(
      'invalid_input',
      `"${type}" events are written by troupe itself.`,
      'Use another type: ack, progress, heartbeat, or result, error, canceled to end a task.'
    );
  if (done === true && !isTerminal)
    throw new HostError(
      'invalid_input',
      `An event "${type}" ends no task, so it cannot be done.`,
      'Leave done out, or end the task with type result, error or canceled.'
    );
  if (done === false && isTerminal)
    throw new HostError(
      'invalid_input',
      `An event "${type}" ends its task, so done cannot be false.`,
      'Leave done out, or use type progress while the task goes on.'
    );
}

/**
 * What is recorded of what a worker tells.
 * @throws HostError `invalid_input`, `unknown_task`, `already_done`
 */
export function eventOf(
  { type, taskId }: EmitEvent,
  payload: object,
  queue: TaskQueue
): NewEvent {
  const isTerminal = terminalTypes.includes(type);
  const id = taskId ?? queue.running?.id;
  if (taskId !== undefined) checkTask(taskId, queue, isTerminal);
  if (!isTerminal)
    return { type, ...(id === undefined ? {} : { task_id: id }), ...payload };
  if (id === undefined)
    throw new HostError(
      'invalid_input',
      `An event "${type}" ends a task, and none is running.`,
      'Call wait_for_command for the next task.'
    );
  return { type, task_id: id, ...payload, done: true };
}

function checkTask(id: string, queue: TaskQueue, isTerminal: boolean): void {
  if (queue.hasEnded(id)) {
    if (!isTerminal) return;
    throw alreadyDone(id);
  }
  const task = queue.task(id);
  if (!task) throw unknownTask(id);
  if (isTerminal && !task.isRunning)
    throw new HostError(
      'invalid_input',
      `Task ${id} waits in the queue and cannot end before it was given to you.`,
      'Call wait_for_command: it gives the tasks in their order.'
    );
}
