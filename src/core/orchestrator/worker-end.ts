import type { NewEvent } from './records.ts';
import type { TaskQueue } from './task-queue.ts';

/** What is done about a worker whose program is gone. */
export interface EndPolicy {
  restart: 'never' | 'on-crash';
  runningTask: 'requeue' | 'fail';
}

export interface Ending {
  events: NewEvent[];
  /** Its next program is to be started. */
  isRestarting: boolean;
}

/** What is known of how its program ended. */
export interface EndFacts {
  exitCode?: number | undefined;
  /** Why we ended it ourselves, if we did. */
  reason?: string;
  /** It was to end with its server, and that is gone. */
  isDisconnected?: boolean;
  /** What it said last. */
  screen: string[];
}

/** Programs in a row that never ask for work: then it is not tried again. */
const mostFailedStarts = 3;
/** A task that ends the program each time is not given for ever. */
export const mostDeliveries = 60;
/** Ends of programs in a row without the end of a task between them. */
export const mostCrashes = 75;

/** Of the first of them, and each waits twice as long as the one before. */
const shortestPauseMs = 500;
const patientExits = 3;
const patientCrashes = 20;

/**
 * How long its next program is to wait, so that one that ends again and again
 * by itself does not keep the machine, or a purse, busy. One that was killed
 * is started at once.
 */
export function pauseMs(queue: TaskQueue, longestMs: number): number {
  const { fruitlessExits, fruitlessCrashes } = queue.state;
  const beyond = Math.max(
    fruitlessExits - patientExits,
    // Also one that the system kills again and again, for want of memory.
    fruitlessCrashes - patientCrashes
  );
  if (beyond <= 0) return 0;
  return Math.min(shortestPauseMs * 2 ** (beyond - 1), longestMs);
}

/** What follows from the end of a worker's program. Pure. */
export function endingOf(
  queue: TaskQueue,
  policy: EndPolicy,
  facts: EndFacts
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
  const isGivenAgain =
    isRestarting &&
    policy.runningTask === 'requeue' &&
    (running?.deliveries ?? 0) < mostDeliveries;
  const events = [
    crashed,
    ...(running ? [isGivenAgain ? requeued(running.id) : lost(running.id)] : [])
  ];
  if (isRestarting || !isStopWanted) return { events, isRestarting };
  // It was to finish its tasks first, and nobody is left to do that.
  const rest = tasks.filter((task) => task !== running);
  const end = rest.map(({ id }) => canceled(id, 'the worker crashed'));
  return { events: [...events, ...end, stop], isRestarting };
}

/** SIGHUP, SIGINT, SIGKILL, SIGTERM: what a program does not do to itself. */
const fromOutside = [1, 2, 9, 15];

/** By others, so that nothing is said of the program itself. */
export function wasKilled({
  exitCode,
  reason
}: Pick<EndFacts, 'exitCode' | 'reason'>): boolean {
  return (
    reason === undefined &&
    (exitCode === undefined || fromOutside.includes(exitCode - 128))
  );
}

/** Its end as it was wanted: what it had not done is canceled. */
export function stopped(queue: TaskQueue, reason?: string): Ending {
  const tasks = queue.tasks.map(({ id }) => canceled(id, reason));
  return { events: [...tasks, stop], isRestarting: false };
}

/** What is missing of a crash that was only written down in part. */
export function restOf({ state, running, tasks }: TaskQueue): NewEvent[] {
  if (state.phase !== 'crashed') return [];
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
      message: 'The program of the worker ended amid this task.'
    },
    done: true,
    by: 'troupe'
  };
}
