import { describe, expect, test } from 'vitest';
import {
  type ExitPolicy,
  endingOf,
  mostCrashes,
  mostDeliveries,
  pauseMs,
  stopped
} from './exit-policy.ts';
import type { NewEvent } from './records.ts';
import {
  emptyState,
  type Task,
  TaskQueue,
  type WorkerState,
  wasKilled
} from './task-queue.ts';

const never: ExitPolicy = { restart: 'never', runningTask: 'requeue' };
const again: ExitPolicy = { restart: 'on-crash', runningTask: 'requeue' };
const failing: ExitPolicy = { restart: 'on-crash', runningTask: 'fail' };
const facts = { exitCode: 1, screen: ['last words'] };

function task(id: string, changes: Partial<Task> = {}): Task {
  const usual = { deliveries: 0, isRunning: false, isCancelWanted: false };
  return { id, ...usual, ...changes };
}

const running = task('a', { isRunning: true, deliveries: 1 });

function queueIn(changes: Partial<WorkerState>): TaskQueue {
  return new TaskQueue({
    ...emptyState(),
    isReady: true,
    phase: 'working',
    ...changes
  });
}

/** Each event in the form `error a`. */
function summaryOf(events: NewEvent[]): string[] {
  return events.map(({ type, task_id }) => [type, task_id].join(' ').trim());
}

describe('a program that has ended', () => {
  const tasks = [running, task('b')];

  test('is recorded with exit code, last lines and our reason', () => {
    const [crashed] = endingOf(queueIn({}), never, {
      ...facts,
      reason: 'it did not get ready in time'
    }).events;
    expect(crashed).toEqual({
      type: 'crashed',
      payload: {
        exit_code: 1,
        reason: 'it did not get ready in time',
        restarting: false,
        screen: ['last words']
      },
      by: 'troupe'
    });
    const unknown = { exitCode: undefined, screen: [] };
    expect(endingOf(queueIn({}), never, unknown).events[0]?.payload).toEqual({
      exit_code: null,
      restarting: false,
      screen: []
    });
  });

  test.each<[string, ExitPolicy, boolean, string[]]>([
    ['fails its task and keeps the other tasks', never, false, ['error a']],
    ['requeues its task', again, true, ['requeued a']],
    ['fails its task and restarts for the next', failing, true, ['error a']]
  ])('%s, as configured', (_, policy, isRestarting, events) => {
    expect(endingOf(queueIn({ tasks }), policy, facts)).toMatchObject({
      isRestarting
    });
    expect(
      summaryOf(endingOf(queueIn({ tasks }), policy, facts).events)
    ).toEqual(['crashed', ...events]);
  });

  test('ends its lost task with an error', () => {
    const { events } = endingOf(queueIn({ tasks }), never, facts);
    expect(events[1]).toMatchObject({
      payload: { code: 'worker_crashed' },
      done: true,
      by: 'troupe'
    });
  });

  test('does not requeue a task forever', () => {
    const tasks = (deliveries: number) => [{ ...running, deliveries }];
    const eventsAfter = (deliveries: number) =>
      summaryOf(
        endingOf(queueIn({ tasks: tasks(deliveries) }), again, facts).events
      );
    expect(eventsAfter(mostDeliveries - 1)).toEqual(['crashed', 'requeued a']);
    expect(eventsAfter(mostDeliveries)).toEqual(['crashed', 'error a']);
  });

  test('is not restarted forever while no task ends', () => {
    const restartsAfter = (fruitlessCrashes: number) =>
      endingOf(queueIn({ fruitlessCrashes }), again, facts).isRestarting;
    expect(restartsAfter(mostCrashes - 2)).toBe(true);
    expect(restartsAfter(mostCrashes - 1)).toBe(false);
  });

  test('is not restarted if it never got ready', () => {
    const queue = queueIn({ isReady: false, phase: 'waiting' });
    expect(endingOf(queue, again, facts).isRestarting).toBe(false);
  });

  test('is not restarted after three in a row that asked for no work', () => {
    const restartsAfter = (failedStarts: number) =>
      endingOf(queueIn({ phase: 'waiting', failedStarts }), again, facts)
        .isRestarting;
    expect([0, 1, 2].map(restartsAfter)).toEqual([true, true, false]);
    // A program that asked for work resets the count.
    const queue = queueIn({ phase: 'working', failedStarts: 0 });
    expect(endingOf(queue, again, facts).isRestarting).toBe(true);
  });
});

describe('the next program', () => {
  const pauseAfter = (fruitlessExits: number, fruitlessCrashes: number) =>
    pauseMs(queueIn({ fruitlessExits, fruitlessCrashes }), 20_000);

  test('starts at once, or after a pause if programs keep exiting', () => {
    expect([0, 3, 4, 5, 6].map((exits) => pauseAfter(exits, exits))).toEqual([
      0, 0, 500, 1000, 2000
    ]);
    expect(pauseAfter(40, 40)).toBe(20_000);
  });

  test('starts at once after a kill, but not forever', () => {
    expect([1, 20].map((kills) => pauseAfter(0, kills))).toEqual([0, 0]);
    expect(pauseAfter(0, 21)).toBe(500);
  });

  test.each([
    [undefined, true],
    [129, true],
    [130, true],
    [137, true],
    [143, true],
    [0, false],
    [1, false],
    [134, false],
    [139, false],
    [255, false]
  ])('exit code %s means that it was killed: %s', (exitCode, isKilled) => {
    expect(wasKilled(exitCode === undefined ? {} : { exitCode })).toBe(
      isKilled
    );
    expect(wasKilled({ exitCode: 143, reason: 'we ended it' })).toBe(false);
  });
});

describe('a worker that must stop', () => {
  const stopAfter = 3;

  test('stops when no task is left, whatever its exit code', () => {
    for (const policy of [never, again])
      expect(
        endingOf(queueIn({ stopAfter, phase: 'stopping' }), policy, facts)
      ).toEqual({
        events: [{ type: 'stopped', by: 'troupe' }],
        isRestarting: false
      });
  });

  test('is restarted to finish its tasks, if that is configured', () => {
    const tasks = [running, task('b')];
    const ending = endingOf(queueIn({ stopAfter, tasks }), again, facts);
    expect(ending.isRestarting).toBe(true);
    expect(summaryOf(ending.events)).toEqual(['crashed', 'requeued a']);
  });

  test('cancels its tasks if there is no restart', () => {
    const tasks = [running, task('b'), task('c')];
    const ending = endingOf(queueIn({ stopAfter, tasks }), never, facts);
    expect(summaryOf(ending.events)).toEqual([
      'crashed',
      'error a',
      'canceled b',
      'canceled c',
      'stopped'
    ]);
  });

  test('ends a task once even if it would be requeued', () => {
    const ending = endingOf(
      queueIn({
        ...{ stopAfter, phase: 'waiting', failedStarts: 2 },
        tasks: [running]
      }),
      again,
      facts
    );
    expect(summaryOf(ending.events)).toEqual(['crashed', 'error a', 'stopped']);
    const ends = ending.events.filter(({ done }) => done);
    expect(ends).toHaveLength(1);
  });

  test('by force is not a crash and cancels every task', () => {
    const tasks = [running, task('b')];
    const queue = queueIn({ stopAfter, isForced: true, tasks });
    const { events, isRestarting } = endingOf(queue, again, facts);
    expect(summaryOf(events)).toEqual(['canceled a', 'canceled b', 'stopped']);
    expect(events[0]).toMatchObject({
      payload: { reason: 'the worker was deleted' },
      done: true
    });
    expect(isRestarting).toBe(false);
  });
});

test('a worker without tasks only stops', () => {
  expect(stopped(queueIn({})).events).toEqual([
    { type: 'stopped', by: 'troupe' }
  ]);
});
