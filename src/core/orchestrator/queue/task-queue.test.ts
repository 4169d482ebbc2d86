import { describe, expect, test } from 'vitest';
import type { NewCommand, NewEvent } from './records.ts';
import { TaskQueue } from './task-queue.ts';

/** A queue after these commands and events, in this order. */
function queueAfter(...lines: (NewCommand | NewEvent)[]): TaskQueue {
  const queue = new TaskQueue();
  for (const line of lines) apply(queue, line);
  return queue;
}

function apply(queue: TaskQueue, line: NewCommand | NewEvent): void {
  const at = '2026-01-01T00:00:00.000Z';
  const { commandSeq, eventSeq } = queue.state;
  if (isCommand(line)) queue.applyCommand({ seq: commandSeq + 1, at, ...line });
  else queue.applyEvent({ seq: eventSeq + 1, at, ...line });
}

function isCommand(line: NewCommand | NewEvent): line is NewCommand {
  return ['task', 'cancel', 'stop'].includes(line.type);
}

const task = (task_id: string): NewCommand => ({ type: 'task', task_id });
const by = (type: string, task_id?: string, payload?: object): NewEvent => ({
  type,
  by: 'troupe',
  ...(task_id === undefined ? {} : { task_id }),
  ...(payload === undefined ? {} : { payload })
});
const ready = by('ready');
const result = (task_id: string): NewEvent => ({
  type: 'result',
  task_id,
  done: true
});
const crashed = (restarting: boolean) =>
  by('crashed', undefined, { restarting });

describe('tasks', () => {
  test('are in order of arrival, the running one first', () => {
    const queue = queueAfter(task('a'), task('b'), ready, by('delivered', 'a'));
    expect(queue.tasks.map(({ id }) => id)).toEqual(['a', 'b']);
    expect(queue.running?.id).toBe('a');
    expect(queue.depth).toBe(1);
    expect(queue.task('a')?.deliveries).toBe(1);
  });

  test('keep their payload, or its file', () => {
    const queue = queueAfter(
      { ...task('a'), payload: { x: 1 } },
      { ...task('b'), payload_file: 'artifacts/b.json' }
    );
    expect(queue.task('a')).toMatchObject({ payload: { x: 1 } });
    expect(queue.task('b')).toMatchObject({ payloadFile: 'artifacts/b.json' });
  });

  test('that have ended are never added again under the same id', () => {
    const queue = queueAfter(task('a'), ready, by('delivered', 'a'));
    apply(queue, result('a'));
    expect(queue.hasEnded('a')).toBe(true);
    expect(queue.running).toBeUndefined();
    for (const line of [task('a'), by('delivered', 'a'), result('a')])
      apply(queue, line);
    expect(queue.tasks).toEqual([]);
  });

  test('go on after an event that ends no task', () => {
    const queue = queueAfter(task('a'), ready, by('delivered', 'a'));
    apply(queue, { type: 'progress', task_id: 'a' });
    apply(queue, { type: 'result', task_id: 'a' });
    apply(queue, { type: 'other', task_id: 'a', done: true });
    expect(queue.running?.id).toBe('a');
  });

  test('are marked when they are to be canceled', () => {
    const queue = queueAfter(task('a'), task('b'));
    apply(queue, { type: 'cancel', task_id: 'b' });
    apply(queue, { type: 'cancel', task_id: 'nobody' });
    expect(queue.tasks.map(({ isCancelWanted }) => isCancelWanted)).toEqual([
      false,
      true
    ]);
  });

  test('that are requeued stay first and count their deliveries', () => {
    const queue = queueAfter(task('a'), task('b'), ready, by('delivered', 'a'));
    apply(queue, crashed(true));
    apply(queue, by('requeued', 'a'));
    expect(queue.running).toBeUndefined();
    expect(queue.first?.id).toBe('a');
    expect(queue.depth).toBe(2);
    apply(queue, by('restarted'));
    apply(queue, by('delivered', 'a'));
    expect(queue.task('a')?.deliveries).toBe(2);
  });
});

describe('a line', () => {
  test('with a number that was applied before changes nothing', () => {
    const queue = new TaskQueue();
    const at = '';
    queue.applyCommand({ seq: 4, at, type: 'task', task_id: 'a' });
    queue.applyCommand({ seq: 4, at, type: 'task', task_id: 'b' });
    queue.applyCommand({ seq: 3, at, type: 'stop' });
    queue.applyEvent({ seq: 2, at, type: 'ready' });
    queue.applyEvent({ seq: 2, at, type: 'stopped', by: 'troupe' });
    expect(queue.tasks.map(({ id }) => id)).toEqual(['a']);
    expect(queue.state).toMatchObject({
      commandSeq: 4,
      eventSeq: 2,
      stopAfter: null
    });
    expect(queue.status).toBe('ready');
  });

  test('of the worker cannot pass for one of troupe', () => {
    const queue = queueAfter(task('a'), ready);
    for (const type of ['delivered', 'crashed', 'stopped', 'stalled'])
      apply(queue, { type, task_id: 'a' });
    expect(queue.status).toBe('ready');
    expect(queue.running).toBeUndefined();
  });
});

test.each<[string, (NewCommand | NewEvent)[]]>([
  ['starting', []],
  ['starting', [task('a')]],
  ['ready', [{ type: 'ready' }]],
  ['ready', [ready, task('a')]],
  ['busy', [ready, task('a'), by('delivered', 'a')]],
  ['ready', [ready, task('a'), by('delivered', 'a'), result('a')]],
  ['stalled', [ready, by('stalled')]],
  ['stalled', [ready, task('a'), by('delivered', 'a'), by('stalled')]],
  ['ready', [ready, by('stalled'), by('resumed')]],
  ['ready', [ready, by('stalled'), { type: 'heartbeat' }]],
  ['starting', [ready, by('stalled'), crashed(true)]],
  ['ready', [ready, crashed(true), by('restarted')]],
  ['crashed', [ready, by('stalled'), crashed(false)]],
  ['crashed', [crashed(false)]],
  ['ready', [ready, { type: 'stop' }, by('stopping')]],
  ['stopped', [ready, by('stalled'), by('stopped')]],
  ['stopped', [ready, crashed(false), by('stopped')]]
])('the status is %s after %j', (status, lines) => {
  const queue = queueAfter(...lines);
  expect(queue.status).toBe(status);
  expect(queue.isOver).toBe(status === 'crashed' || status === 'stopped');
});

test('the first stop counts, and force is never withdrawn', () => {
  const queue = queueAfter(task('a'), { type: 'stop' });
  expect(queue.state).toMatchObject({ stopAfter: 2, isForced: false });
  apply(queue, { type: 'stop', payload: { force: true } });
  apply(queue, { type: 'stop', payload: { force: 'no' } });
  expect(queue.state).toMatchObject({ stopAfter: 2, isForced: true });
});

test('programs are counted, and so are consecutive failed starts', () => {
  const exited = by('crashed', undefined, { restarting: true, exit_code: 1 });
  const queue = queueAfter(ready, exited, exited);
  expect(queue.state).toMatchObject({ generation: 3, failedStarts: 1 });
  apply(queue, by('restarted'));
  expect(queue.state).toMatchObject({ generation: 3, failedStarts: 0 });
});
