import { describe, expect, test } from 'vitest';
import type { NewEvent } from './records.ts';
import {
  emptyState,
  type Task,
  TaskQueue,
  type WorkerState
} from './task-queue.ts';
import {
  type EndPolicy,
  endingOf,
  mostCrashes,
  mostDeliveries,
  pauseMs,
  stopped,
  wasKilled
} from './worker-end.ts';

const never: EndPolicy = { restart: 'never', runningTask: 'requeue' };
const again: EndPolicy = { restart: 'on-crash', runningTask: 'requeue' };
const failing: EndPolicy = { restart: 'on-crash', runningTask: 'fail' };
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

/** `error a`, for each. */
function told(events: NewEvent[]): string[] {
  return events.map(({ type, task_id }) => [type, task_id].join(' ').trim());
}

describe('a program that is gone', () => {
  const tasks = [running, task('b')];

  test('is told with its exit code, its last words and why we ended it', () => {
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

  test.each<[string, EndPolicy, boolean, string[]]>([
    ['fails its task, and keeps the others', never, false, ['error a']],
    ['gives its task again', again, true, ['requeued a']],
    ['fails its task, and goes on with the next', failing, true, ['error a']]
  ])('%s, as configured', (_, policy, isRestarting, events) => {
    expect(endingOf(queueIn({ tasks }), policy, facts)).toMatchObject({
      isRestarting
    });
    expect(told(endingOf(queueIn({ tasks }), policy, facts).events)).toEqual([
      'crashed',
      ...events
    ]);
  });

  test('says of a task it lost what became of it', () => {
    const { events } = endingOf(queueIn({ tasks }), never, facts);
    expect(events[1]).toMatchObject({
      payload: { code: 'worker_crashed' },
      done: true,
      by: 'troupe'
    });
  });

  test('gives no task for ever', () => {
    const tasks = (deliveries: number) => [{ ...running, deliveries }];
    const eventsAfter = (deliveries: number) =>
      told(
        endingOf(queueIn({ tasks: tasks(deliveries) }), again, facts).events
      );
    expect(eventsAfter(mostDeliveries - 1)).toEqual(['crashed', 'requeued a']);
    expect(eventsAfter(mostDeliveries)).toEqual(['crashed', 'error a']);
  });

  test('is not started for ever while no task ends', () => {
    const restartsAfter = (fruitlessCrashes: number) =>
      endingOf(queueIn({ fruitlessCrashes }), again, facts).isRestarting;
    expect(restartsAfter(mostCrashes - 2)).toBe(true);
    expect(restartsAfter(mostCrashes - 1)).toBe(false);
  });

  test('is not started again that never got ready', () => {
    const queue = queueIn({ isReady: false, phase: 'waiting' });
    expect(endingOf(queue, again, facts).isRestarting).toBe(false);
  });

  test('is not started again after three in a row that asked for no work', () => {
    const restartsAfter = (failedStarts: number) =>
      endingOf(queueIn({ phase: 'waiting', failedStarts }), again, facts)
        .isRestarting;
    expect([0, 1, 2].map(restartsAfter)).toEqual([true, true, false]);
    // One that asked for work counts anew.
    const queue = queueIn({ phase: 'working', failedStarts: 0 });
    expect(endingOf(queue, again, facts).isRestarting).toBe(true);
  });
});

describe('the next program', () => {
  const pauseAfter = (fruitlessExits: number, fruitlessCrashes: number) =>
    pauseMs(queueIn({ fruitlessExits, fruitlessCrashes }), 20_000);

  test('comes at once, but after one that ends again and again by itself', () => {
    expect([0, 3, 4, 5, 6].map((exits) => pauseAfter(exits, exits))).toEqual([
      0, 0, 500, 1000, 2000
    ]);
    expect(pauseAfter(40, 40)).toBe(20_000);
  });

  test('comes at once after one that was killed, but not without end', () => {
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
  ])('exit code %s tells that it was killed: %s', (exitCode, isKilled) => {
    expect(wasKilled(exitCode === undefined ? {} : { exitCode })).toBe(
      isKilled
    );
    expect(wasKilled({ exitCode: 143, reason: 'we ended it' })).toBe(false);
  });
});

describe('a worker that is to stop', () => {
  const stopAfter = 3;

  test('has stopped when nothing is left to do, whatever its exit code', () => {
    for (const policy of [never, again])
      expect(
        endingOf(queueIn({ stopAfter, phase: 'stopping' }), policy, facts)
      ).toEqual({
        events: [{ type: 'stopped', by: 'troupe' }],
        isRestarting: false
      });
  });

  test('is started again to finish what it has, where that is configured', () => {
    const tasks = [running, task('b')];
    const ending = endingOf(queueIn({ stopAfter, tasks }), again, facts);
    expect(ending.isRestarting).toBe(true);
    expect(told(ending.events)).toEqual(['crashed', 'requeued a']);
  });

  test('takes its tasks with it, where nobody goes on', () => {
    const tasks = [running, task('b'), task('c')];
    const ending = endingOf(queueIn({ stopAfter, tasks }), never, facts);
    expect(told(ending.events)).toEqual([
      'crashed',
      'error a',
      'canceled b',
      'canceled c',
      'stopped'
    ]);
  });

  test('ends a task once, also where it would be given again', () => {
    const ending = endingOf(
      queueIn({
        ...{ stopAfter, phase: 'waiting', failedStarts: 2 },
        tasks: [running]
      }),
      again,
      facts
    );
    expect(told(ending.events)).toEqual(['crashed', 'error a', 'stopped']);
    const ends = ending.events.filter(({ done }) => done);
    expect(ends).toHaveLength(1);
  });

  test('by force is no crash, and ends all it has', () => {
    const tasks = [running, task('b')];
    const queue = queueIn({ stopAfter, isForced: true, tasks });
    const { events, isRestarting } = endingOf(queue, again, facts);
    expect(told(events)).toEqual(['canceled a', 'canceled b', 'stopped']);
    expect(events[0]).toMatchObject({
      payload: { reason: 'the worker was deleted' },
      done: true
    });
    expect(isRestarting).toBe(false);
  });
});

test('who had nothing to do has stopped, and that is all', () => {
  expect(stopped(queueIn({})).events).toEqual([
    { type: 'stopped', by: 'troupe' }
  ]);
});
