import { describe, expect, test } from 'vitest';
import { HostError } from '../../errors.ts';
import { ownTypes } from './records.ts';
import { emptyState, TaskQueue } from './task-queue.ts';
import { checkType, type EmitEvent, eventOf } from './worker-mailbox.ts';

function refusalOf(run: () => unknown): HostError {
  try {
    run();
  } catch (error) {
    if (error instanceof HostError) return error;
    throw error;
  }
  throw new Error('No error was thrown.');
}

const idle = new TaskQueue({ ...emptyState(), ended: ['old'] });

const waiting = {
  ...{ id: 'next', deliveries: 0, isRunning: false, isCancelWanted: false }
};
const busy = new TaskQueue({
  ...emptyState(),
  ended: ['old'],
  tasks: [{ ...waiting, id: 'now', isRunning: true, deliveries: 1 }, waiting]
});

describe('the type of an event', () => {
  test.each(ownTypes)(
    '"%s" is refused, because only troupe writes it',
    (type) => {
      const { code, message, hint } = refusalOf(() => checkType({ type }));
      expect(code).toBe('invalid_input');
      expect(message).toContain(`"${type}"`);
      expect(hint).toContain('progress');
    }
  );

  test.each<EmitEvent>([
    { type: 'progress', done: true },
    { type: 'ready', done: true },
    { type: 'result', done: false },
    { type: 'canceled', done: false }
  ])('of %j contradicts its done', (event) => {
    expect(refusalOf(() => checkType(event)).code).toBe('invalid_input');
  });

  test.each<EmitEvent>([
    { type: 'progress' },
    { type: 'heartbeat', done: false },
    { type: 'result' },
    { type: 'error', done: true },
    { type: 'my.own-type' }
  ])('of %j is accepted', (event) => {
    expect(() => checkType(event)).not.toThrow();
  });
});

describe('an event', () => {
  test('without a task belongs to the running task, if there is one', () => {
    expect(eventOf({ type: 'progress' }, { payload: 1 }, busy)).toEqual({
      type: 'progress',
      task_id: 'now',
      payload: 1
    });
    expect(eventOf({ type: 'heartbeat' }, {}, idle)).toEqual({
      type: 'heartbeat'
    });
  });

  test.each(['result', 'error', 'canceled'])('"%s" ends its task', (type) => {
    const ended = { type, task_id: 'now', payload_file: 'f', done: true };
    expect(eventOf({ type }, { payload_file: 'f' }, busy)).toEqual(ended);
    const named = { type, taskId: 'now', done: true };
    expect(eventOf(named, { payload_file: 'f' }, busy)).toEqual(ended);
  });

  test('may report on an ended or waiting task, but not end it', () => {
    for (const taskId of ['old', 'next'])
      expect(eventOf({ type: 'progress', taskId }, {}, busy)).toEqual({
        type: 'progress',
        task_id: taskId
      });
    const end = (taskId: string) =>
      refusalOf(() => eventOf({ type: 'result', taskId }, {}, busy));
    expect(end('old').code).toBe('already_done');
    expect(end('next').code).toBe('invalid_input');
    expect(end('next').message).toContain('waits in the queue');
  });

  test('of an unknown task is refused, whatever its type', () => {
    for (const type of ['progress', 'result'])
      expect(
        refusalOf(() => eventOf({ type, taskId: 'nobody' }, {}, busy)).code
      ).toBe('unknown_task');
  });

  test('that ends a task needs a running task', () => {
    expect(refusalOf(() => eventOf({ type: 'result' }, {}, idle)).code).toBe(
      'invalid_input'
    );
  });
});
