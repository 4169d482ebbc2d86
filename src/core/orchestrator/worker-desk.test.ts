import {
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync
} from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { thisProcess } from '../../adapters/child-process/process-table.ts';
import { asHolder } from '../../testing/lock-files.ts';
import { until } from '../../testing/until.ts';
import {
  openOffice,
  runId,
  type WorkerOffice
} from '../../testing/worker-office.ts';
import { remove, writeNew } from '../state/atomic-file.ts';
import type { Orchestrator } from './orchestrator.ts';
import type { WorkerDesk } from './worker-desk.ts';

const id = 'aaaaaaaa';

let office: WorkerOffice;
let master: Orchestrator;
let desk: WorkerDesk;

beforeEach(async () => {
  office = await openOffice({ restart: 'on-crash' });
  onTestFinished(() => office.close());
  office.hire(id);
  master = office.master();
  desk = office.desk(id);
});

const enqueue = (task: string) =>
  master.enqueue(id, { id: task, payload: { do: task } });

function wait(timeoutMs = 0, signal = new AbortController().signal) {
  return desk.waitForCommand({ timeoutMs, signal });
}

const types = () => office.lines(id, 'outbox').map(({ type }) => type);
const folder = () => master.store.folderOf(id);

/** Somebody who lives holds a lock, until it is given back. */
function hold(path: string): () => void {
  writeNew(path, JSON.stringify(asHolder(thisProcess())));
  return () => remove(path);
}

describe('whoever waits', () => {
  test('is ready with the first call, and once', async () => {
    expect(await wait()).toEqual({
      given: undefined,
      cursor: 0,
      cancelRequested: false
    });
    await wait();
    await desk.emitEvent({ type: 'ready' });
    expect(types()).toEqual(['ready']);
  });

  test('is given the first task, again and again until it ends', async () => {
    await enqueue('a');
    await enqueue('b');
    const first = await wait();
    expect(first).toMatchObject({
      given: { type: 'task', task: { id: 'a' }, redelivered: false },
      cursor: 2
    });
    desk = office.desk(id);
    expect((await wait()).given).toMatchObject({
      task: { id: 'a', payload: { do: 'a' } },
      redelivered: true
    });
    await desk.emitEvent({ type: 'result' });
    expect((await wait()).given).toMatchObject({
      task: { id: 'b' },
      redelivered: false
    });
    expect(types()).toEqual(['ready', 'delivered', 'result', 'delivered']);
  });

  test('is given what comes meanwhile, by another process', async () => {
    const waiting = wait(20_000);
    await until('a first look', () => types().includes('ready') || undefined);
    await enqueue('a');
    expect((await waiting).given?.task?.id).toBe('a');
  });

  test('is told of a cancel, also when there is nothing else to tell', async () => {
    await enqueue('a');
    await wait();
    await master.cancel(id, 'a');
    expect(await wait()).toMatchObject({ cancelRequested: true });
    expect(await desk.emitEvent({ type: 'progress' })).toEqual({
      seq: 3,
      cancelRequested: true
    });
    expect(await desk.emitEvent({ type: 'canceled' })).toEqual({
      seq: 4,
      cancelRequested: false
    });
  });

  test('is never given a task that was canceled before its turn', async () => {
    await enqueue('a');
    await enqueue('b');
    await master.cancel(id, 'a');
    expect((await wait()).given?.task?.id).toBe('b');
  });

  test('that gives up is given nothing, and the task stays', async () => {
    const controller = new AbortController();
    const waiting = wait(20_000, controller.signal);
    await until('a first look', () => types().includes('ready') || undefined);
    controller.abort();
    await enqueue('a');
    expect((await waiting).given).toBeUndefined();
    expect(types()).toEqual(['ready']);
    expect((await wait()).given).toMatchObject({ redelivered: false });
  });

  test('while others hold the lock is not kept, and what it was not told it was not given', async () => {
    await wait();
    await enqueue('a');
    const release = hold(folder().lock);
    expect((await wait()).given).toBeUndefined();
    release();
    await until('the lock to be free', () => !existsSync(folder().lock));
    expect(types()).toEqual(['ready']);
    expect((await wait()).given).toMatchObject({
      task: { id: 'a' },
      redelivered: false
    });
  });

  test('is told what it is given, though the broadcast is held up', async () => {
    await wait();
    await enqueue('a');
    await master.store.broadcastOf(runId).publish(id, master.store.get(id).log);
    const lock = `${office.workspace.record}/workers/run-${runId}/broadcast.lock`;
    const release = hold(lock);
    expect((await wait()).given?.task?.id).toBe('a');
    release();
    await until('what was held up', () =>
      office.broadcast().some(({ type }) => type === 'delivered')
    );
  });
});

describe('a worker that is to stop', () => {
  test('is told so when its tasks are done, however often it asks', async () => {
    await enqueue('a');
    await wait();
    const deleting = master.delete(id, { force: false, confirm: false });
    await until(
      'the stop',
      () => master.store.get(id).log.read().state.stopAfter ?? undefined
    );
    expect((await wait()).given?.task?.id).toBe('a');
    await desk.emitEvent({ type: 'result' });
    for (const _ of [1, 2])
      expect((await wait()).given).toEqual({ type: 'stop' });
    expect(types().filter((type) => type === 'stopping')).toHaveLength(1);
    await deleting;
  });

  test('is told to go when it has outlived its own end, which stays', async () => {
    await wait();
    await enqueue('a');
    await enqueue('b');
    await master.delete(id, { force: true, confirm: true });
    const before = types();
    expect(before.at(-1)).toBe('stopped');
    expect((await wait()).given).toEqual({ type: 'stop' });
    expect(types()).toEqual(before);
    expect(master.store.get(id).log.read().status).toBe('stopped');
  });
});

describe('an event', () => {
  test('that is refused leaves nothing behind', async () => {
    const payload = { text: 'x'.repeat(100_000) };
    await expect(desk.emitEvent({ type: 'result', payload })).rejects.toThrow(
      /none is running/
    );
    expect(readdirSync(folder().artifacts).join()).not.toContain('payload');
    expect(types()).toEqual([]);
  });

  test('that is long has its payload beside it, byte for byte', async () => {
    await wait();
    const payload = { text: 'é\n'.repeat(50_000) };
    await desk.emitEvent({ type: 'progress', payload });
    const [, event] = office.lines(id, 'outbox');
    expect(event).not.toHaveProperty('payload');
    expect(event?.payload_file).toMatch(/^artifacts\/payload-\w+\.json$/);
    const file = join(folder().public, String(event?.payload_file));
    expect(readFileSync(file, 'utf8')).toBe(JSON.stringify(payload));
  });

  test('of a worker that was silent says that it is back', async () => {
    await wait();
    await master.store.get(id).log.change(() => ({
      events: [{ type: 'stalled', by: 'troupe' as const }],
      told: undefined
    }));
    await desk.emitEvent({ type: 'heartbeat' });
    expect(types()).toEqual(['ready', 'stalled', 'resumed', 'heartbeat']);
  });

  test('of a program that was started again says that it is there', async () => {
    await wait();
    await master.store.get(id).log.change(() => ({
      events: [
        {
          type: 'crashed',
          payload: { restarting: true },
          by: 'troupe' as const
        }
      ],
      told: undefined
    }));
    await desk.emitEvent({ type: 'ready' });
    const [, , last] = office.lines(id, 'outbox');
    expect(last).toMatchObject({
      type: 'restarted',
      payload: { restarts: 1 }
    });
    expect(types()).toEqual(['ready', 'crashed', 'restarted']);
  });

  test('and every wait show that the worker lives', async () => {
    const { seen } = folder();
    const long = new Date(0);
    await wait();
    utimesSync(seen, long, long);
    await desk.emitEvent({ type: 'heartbeat' });
    expect(statSync(seen).mtimeMs).toBeGreaterThan(0);
    utimesSync(seen, long, long);
    await wait();
    await setImmediate();
    expect(statSync(seen).mtimeMs).toBeGreaterThan(0);
  });
});
