import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import {
  openOffice,
  type WorkerOffice
} from '../../../test/kit/agents/worker-office.ts';
import type { Orchestrator } from './orchestrator.ts';

const id = 'aaaaaaaa';
const now = { timeoutMs: 0, signal: new AbortController().signal };

let office: WorkerOffice;
let master: Orchestrator;

beforeEach(async () => {
  office = await openOffice({ restart: 'never' });
  const { close } = office;
  onTestFinished(() => close());
  master = office.master();
  office.hire(id);
});

const wait = () => office.desk(id).waitForCommand(now);
const queue = () => office.reader().get(id).log.read();
const logs = () => [
  office.lines(id, 'inbox').map(({ type, task_id }) => [type, task_id]),
  office.lines(id, 'outbox').map(({ type, task_id }) => [type, task_id])
];

async function enqueue(...ids: string[]): Promise<void> {
  for (const task of ids) await master.enqueue(id, { id: task, payload: task });
}

/** The call is refused with this code, and records nothing. */
async function expectRefused(call: () => Promise<unknown>, code: string) {
  const before = logs();
  await expect(call()).rejects.toMatchObject({ code });
  expect(logs()).toEqual(before);
}

const remove = (force = false, confirm = false) =>
  master.delete(id, { force, confirm });

describe('a new task', () => {
  test('gets the position behind those that have not ended', async () => {
    const positions: number[] = [];
    for (const task of ['a', 'b', 'c']) {
      const added = await master.enqueue(id, { id: task, payload: 1 });
      expect(added.taskId).toBe(task);
      positions.push(added.position);
    }
    expect(positions).toEqual([0, 1, 2]);
    await master.cancel(id, 'a');
    expect((await master.enqueue(id, { payload: 1 })).position).toBe(2);
  });

  test('without an id gets one', async () => {
    const { taskId } = await master.enqueue(id, { payload: 1 });
    expect(taskId).toMatch(/^[0-9a-f]{8}$/);
    expect(queue().task(taskId)).toMatchObject({ payload: 1 });
  });

  test('is refused under an id that was used, even by an ended task', async () => {
    await enqueue('a', 'b');
    await master.cancel(id, 'a');
    for (const task of ['a', 'b'])
      await expectRefused(() => enqueue(task), 'task_exists');
  });

  test('is refused once the worker is to stop, or has stopped', async () => {
    await enqueue('a');
    await remove();
    await expectRefused(() => enqueue('b'), 'agent_over');
    await remove(true, true);
    await expectRefused(() => enqueue('b'), 'agent_over');
  });
});

describe('a task that is canceled', () => {
  test('has ended if it has not begun, and is never delivered', async () => {
    await enqueue('a', 'b', 'c');
    expect(await master.cancel(id, 'a')).toBe('canceled');
    expect(await master.cancel(id, 'c')).toBe('canceled');
    expect(office.lines(id, 'outbox')).toMatchObject([
      { type: 'canceled', task_id: 'a', done: true, by: 'troupe' },
      { type: 'canceled', task_id: 'c', done: true, by: 'troupe' }
    ]);
    expect((await wait()).given?.task?.id).toBe('b');
    expect(queue().tasks.map((task) => task.id)).toEqual(['b']);
  });

  test('goes on until the worker ends it if it is running', async () => {
    await enqueue('a', 'b');
    await wait();
    expect(await master.cancel(id, 'a')).toBe('cancel_requested');
    expect(queue().running?.id).toBe('a');
    const before = logs();
    expect(await master.cancel(id, 'a')).toBe('cancel_requested');
    expect(logs()).toEqual(before);
    expect(await wait()).toMatchObject({ cancelRequested: true });
    await office.desk(id).emitEvent({ type: 'canceled', taskId: 'a' });
    expect((await wait()).given?.task?.id).toBe('b');
  });

  test('twice, or after its end, is refused', async () => {
    await enqueue('a', 'b');
    await master.cancel(id, 'b');
    await wait();
    await office.desk(id).emitEvent({ type: 'result', taskId: 'a' });
    for (const task of ['a', 'b'])
      await expectRefused(() => master.cancel(id, task), 'already_done');
  });

  test('and unknown is refused', () =>
    expectRefused(() => master.cancel(id, 'x'), 'unknown_task'));
});

describe('a worker that is deleted', () => {
  test('with tasks finishes them first', async () => {
    await enqueue('a', 'b');
    await wait();
    await remove();
    expect(queue().status).toBe('busy');
    expect(queue().state).toMatchObject({ isForced: false, stopAfter: 3 });
    await office.desk(id).emitEvent({ type: 'result', taskId: 'a' });
    expect((await wait()).given?.task?.id).toBe('b');
    await office.desk(id).emitEvent({ type: 'result', taskId: 'b' });
    expect((await wait()).given).toEqual({ type: 'stop' });
  });

  test('again is asked to stop once', async () => {
    await enqueue('a');
    await wait();
    await remove();
    const before = logs();
    await remove();
    expect(logs()).toEqual(before);
  });

  test('by force amid a task needs a confirmation', async () => {
    await enqueue('a');
    await wait();
    await expectRefused(() => remove(true), 'needs_confirm');
    expect(queue().status).toBe('busy');
    await remove(true, true);
    expect(queue().status).toBe('stopped');
  });

  test('by force without a running task needs none, and its tasks are canceled', async () => {
    await enqueue('a', 'b');
    await remove(true);
    expect(office.lines(id, 'inbox').at(-1)).toMatchObject({
      type: 'stop',
      payload: { force: true }
    });
    expect(office.lines(id, 'outbox')).toMatchObject([
      { type: 'canceled', task_id: 'a', done: true },
      { type: 'canceled', task_id: 'b', done: true },
      { type: 'stopped' }
    ]);
  });

  test('by force need not finish what it was asked to finish', async () => {
    await enqueue('a');
    await wait();
    await remove();
    await remove(true, true);
    const [inbox, outbox] = logs();
    expect(inbox?.map(([type]) => type)).toEqual(['task', 'stop', 'stop']);
    expect(outbox?.slice(-2)).toEqual([
      ['canceled', 'a'],
      ['stopped', undefined]
    ]);
  });

  test('after a crash has its waiting tasks canceled, once', async () => {
    await enqueue('a', 'b');
    await wait();
    office.lose(id);
    await master.attend();
    expect(queue().status).toBe('crashed');
    expect(queue().tasks.map((task) => task.id)).toEqual(['b']);
    await remove();
    expect(queue().status).toBe('stopped');
    expect(queue().tasks).toEqual([]);
    const before = logs();
    await remove();
    expect(logs()).toEqual(before);
    expect(before[1]?.slice(-2)).toEqual([
      ['canceled', 'b'],
      ['stopped', undefined]
    ]);
  });

  test('and unknown is refused', async () => {
    await expect(
      master.delete('ffffffff', { force: true, confirm: true })
    ).rejects.toMatchObject({ code: 'unknown_agent' });
  });
});
