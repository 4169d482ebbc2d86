import type { NewEvent } from './records.ts';
import { type Exit, type TaskQueue, wasKilled } from './task-queue.ts';

/** What happens to a worker whose program has ended. */
export interface ExitPolicy {
  restart: 'never' | 'on-crash';
  runningTask: 'requeue' | 'fail';
}

interface ExitFacts extends Exit {
  /** Whether it must end because the server that created it has ended. */
  isDisconnected?: boolean;
  /** The last lines of its output. */
  screen: string[];
}

interface Ending {
  events: NewEvent[];
  /** Whether its next program must be started. */
  isRestarting: boolean;
}

/** No restart after this many programs in a row that never asked for work. */
const mostFailedStarts = 3;
/** The most deliveries of a task during which the program ends each time. */
export const mostDeliveries = 60;
/** No restart after this many programs in a row without the end of a task. */
export const mostCrashes = 75;

/** The first pause; each later one is twice as long. */
const shortestPauseMs = 500;
const exitsWithoutPause = 3;
const crashesWithoutPause = 20;

/**
 * The pause before the next program starts, so that a program that keeps
 * exiting by itself wastes neither CPU nor money. A killed program is restarted
 * at once, up to a limit.
 */
export function pauseMs(queue: TaskQueue, longestMs: number): number {
  const { fruitlessExits, fruitlessCrashes } = queue.state;
  const beyond = Math.max(
    fruitlessExits - exitsWithoutPause,
    // The system may kill it every time, for lack of memory.
    fruitlessCrashes - crashesWithoutPause
  );
  if (beyond <= 0) return 0;
  return Math.min(shortestPauseMs * 2 ** (beyond - 1), longestMs);
}

/** The events that follow from the end of a worker's program. Pure. */
export function endingOf(
  queue: TaskQueue,
  policy: ExitPolicy,
  facts: ExitFacts
): Ending {
  const { state, running, tasks } = queue;
  const isStopWanted = state.stopAfter !== null;
  if (state.isForced) return stopped(queue, 'the worker was deleted');
  if (facts.isDisconnected) return stopped(queue, 'its server is gone');
  if (isStopWanted && tasks.length === 0) return stopped(queue);
  const hasFailed = state.phase === 'waiting' && !wasKilled(facts);
  const failedStarts = state.failedStarts + (hasFailed ? 1 : 0);
  const isRestarting =
    policy.restart === 'on-crash' &&
    state.isReady &&
    failedStarts < mostFailedStarts &&
    state.fruitlessCrashes + 1 < mostCrashes;
  const crashed: NewEvent = {
    type: 'crashed',
    payload: {
      exit_code: facts.exitCode ?? null,
      ...(facts.reason === undefined ? {} : { reason: facts.reason }),
      restarting: isRestarting,
      screen: facts.screen
    },
    by: 'troupe'
  };
  if (!isRestarting)
    return { events: [crashed, ...afterCrash(queue)], isRestarting };
  const isRequeued =
    policy.runningTask === 'requeue' &&
    (running?.deliveries ?? 0) < mostDeliveries;
  const first = running && (isRequeued ? requeued : lost)(running.id);
  return { events: first ? [crashed, first] : [crashed], isRestarting };
}

/** A wanted end: tasks that have not ended are canceled. */
export function stopped(queue: TaskQueue, reason?: string): Ending {
  const tasks = queue.tasks.map(({ id }) => canceled(id, reason));
  return { events: [...tasks, stop], isRestarting: false };
}

/** The events that a killed process left out after `crashed`. */
export function missingAfterCrash(queue: TaskQueue): NewEvent[] {
  return queue.state.phase === 'crashed' ? afterCrash(queue) : [];
}

/** Also cancels the waiting tasks if the worker must stop after them. */
function afterCrash({ state, running, tasks }: TaskQueue): NewEvent[] {
  const first = running ? [lost(running.id)] : [];
  if (state.stopAfter === null) return first;
  const rest = tasks.filter((task) => task !== running);
  const end = rest.map(({ id }) => canceled(id, 'the worker crashed'));
  return [...first, ...end, stop];
}

const stop: NewEvent = { type: 'stopped', by: 'troupe' };

/** The end of a task that never ran, or whose worker is gone. */
export function canceled(taskId: string, reason?: string): NewEvent {
  return {
    type: 'canceled',
    task_id: taskId,
    ...(reason === undefined ? {} : { payload: { reason } }),
    done: true,
    by: 'troupe'
  };
}

function requeued(taskId: string): NewEvent {
  return { type: 'requeued', task_id: taskId, by: 'troupe' };
}

function lost(taskId: string): NewEvent {
  return {
    type: 'error',
    task_id: taskId,
    payload: {
      code: 'worker_crashed',
      message: 'The program of the worker ended during this task.'
    },
    done: true,
    by: 'troupe'
  };
}
