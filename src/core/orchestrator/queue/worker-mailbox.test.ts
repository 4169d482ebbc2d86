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
import {
  openOffice,
  runId,
  type WorkerOffice
} from '../../../../test/kit/agents/worker-office.ts';
import { until } from '../../../../test/kit/judges/until.ts';
import { asHolder } from '../../../../test/kit/workspaces/lock-files.ts';
import { thisProcess } from '../../../adapters/child-process/process-table.ts';
import { remove, writeNew } from '../../state/files/atomic-file.ts';
import type { Orchestrator } from '../orchestrator.ts';
import type { WorkerMailbox } from './worker-mailbox.ts';

const id = 'aaaaaaaa';

let office: WorkerOffice;
let master: Orchestrator;
let mailbox: WorkerMailbox;

beforeEach(async () => {
  office = await openOffice({ restart: 'on-crash' });
  onTestFinished(() => office.close());
  office.hire(id);
  master = office.master();
  mailbox = office.desk(id);
});

const enqueue = (task: string) =>
  master.enqueue(id, { id: task, payload: { do: task } });

function wait(timeoutMs = 0, signal = new AbortController().signal) {
  return mailbox.waitForCommand({ timeoutMs, signal });
}

const types = () => office.lines(id, 'outbox').map(({ type }) => type);
const folder = () => master.store.folderOf(id);

/** Lets a living process hold a lock; returns the release. */
function hold(path: string): () => void {
  writeNew(path, JSON.stringify(asHolder(thisProcess())));
  return () => remove(path);
}

describe('a worker that waits', () => {
  test('is ready with the first call, once', async () => {
    expect(await wait()).toEqual({
      given: undefined,
      cursor: 0,
      cancelRequested: false
    });
    await wait();
    await mailbox.emitEvent({ type: 'ready' });
    expect(types()).toEqual(['ready']);
  });

  test('gets the first task with every call until the task ends', async () => {
    await enqueue('a');
    await enqueue('b');
    const first = await wait();
    expect(first).toMatchObject({
      given: { type: 'task', task: { id: 'a' }, redelivered: false },
      cursor: 2
    });
    mailbox = office.desk(id);
    expect((await wait()).given).toMatchObject({
      task: { id: 'a', payload: { do: 'a' } },
      redelivered: true
    });
    await mailbox.emitEvent({ type: 'result' });
    expect((await wait()).given).toMatchObject({
      task: { id: 'b' },
      redelivered: false
    });
    expect(types()).toEqual(['ready', 'delivered', 'result', 'delivered']);
  });

  test('gets a task that another process adds meanwhile', async () => {
    const waiting = wait(20_000);
    await until('a first look', () => types().includes('ready') || undefined);
    await enqueue('a');
    expect((await waiting).given?.task?.id).toBe('a');
  });

  test('sees a cancel request in every answer', async () => {
    await enqueue('a');
    await wait();
    await master.cancel(id, 'a');
    expect(await wait()).toMatchObject({ cancelRequested: true });
    expect(await mailbox.emitEvent({ type: 'progress' })).toEqual({
      seq: 3,
      cancelRequested: true
    });
    expect(await mailbox.emitEvent({ type: 'canceled' })).toEqual({
      seq: 4,
      cancelRequested: false
    });
  });

  test('never gets a task that was canceled before its delivery', async () => {
    await enqueue('a');
    await enqueue('b');
    await master.cancel(id, 'a');
    expect((await wait()).given?.task?.id).toBe('b');
  });

  test('gets no task after an abort, and the task stays queued', async () => {
    const controller = new AbortController();
    const waiting = wait(20_000, controller.signal);
    await until('a first look', () => types().includes('ready') || undefined);
    controller.abort();
    await enqueue('a');
    expect((await waiting).given).toBeUndefined();
    expect(types()).toEqual(['ready']);
    expect((await wait()).given).toMatchObject({ redelivered: false });
  });

  test('is answered in time while the lock is held, and nothing is delivered', async () => {
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

  test('gets its task even while the broadcast is locked', async () => {
    await wait();
    await enqueue('a');
    await master.store.broadcastOf(runId).publish(id, master.store.get(id).log);
    const lock = `${office.workspace.record}/workers/run-${runId}/broadcast.lock`;
    const release = hold(lock);
    expect((await wait()).given?.task?.id).toBe('a');
    release();
    await until('the delayed event', () =>
      office.broadcast().some(({ type }) => type === 'delivered')
    );
  });
});

describe('a worker that must stop', () => {
  test('gets the stop after its tasks, however often it asks', async () => {
    await enqueue('a');
    await wait();
    const deleting = master.delete(id, { force: false, confirm: false });
    await until(
      'the stop',
      () => master.store.get(id).log.read().state.stopAfter ?? undefined
    );
    expect((await wait()).given?.task?.id).toBe('a');
    await mailbox.emitEvent({ type: 'result' });
    for (const _ of [1, 2])
      expect((await wait()).given).toEqual({ type: 'stop' });
    expect(types().filter((type) => type === 'stopping')).toHaveLength(1);
    await deleting;
  });

  test('that outlives its recorded end gets a stop and changes nothing', async () => {
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
    await expect(
      mailbox.emitEvent({ type: 'result', payload })
    ).rejects.toThrow(/none is running/);
    expect(readdirSync(folder().artifacts).join()).not.toContain('payload');
    expect(types()).toEqual([]);
  });

  test('with a long payload has it in a file, byte for byte', async () => {
    await wait();
    const payload = { text: 'é\n'.repeat(50_000) };
    await mailbox.emitEvent({ type: 'progress', payload });
    const [, event] = office.lines(id, 'outbox');
    expect(event).not.toHaveProperty('payload');
    expect(event?.payload_file).toMatch(/^artifacts\/payload-\w+\.json$/);
    const file = join(folder().public, String(event?.payload_file));
    expect(readFileSync(file, 'utf8')).toBe(JSON.stringify(payload));
  });

  test('of a stalled worker records that it resumed', async () => {
    await wait();
    await master.store.get(id).log.change(() => ({
      events: [{ type: 'stalled', by: 'troupe' as const }],
      result: undefined
    }));
    await mailbox.emitEvent({ type: 'heartbeat' });
    expect(types()).toEqual(['ready', 'stalled', 'resumed', 'heartbeat']);
  });

  test('of a restarted program records the restart', async () => {
    await wait();
    await master.store.get(id).log.change(() => ({
      events: [
        {
          type: 'crashed',
          payload: { restarting: true },
          by: 'troupe' as const
        }
      ],
      result: undefined
    }));
    await mailbox.emitEvent({ type: 'ready' });
    const [, , last] = office.lines(id, 'outbox');
    expect(last).toMatchObject({
      type: 'restarted',
      payload: { restarts: 1 }
    });
    expect(types()).toEqual(['ready', 'crashed', 'restarted']);
  });

  test('updates the sign of life, as every wait does', async () => {
    const { seen } = folder();
    const longAgo = new Date(0);
    await wait();
    utimesSync(seen, longAgo, longAgo);
    await mailbox.emitEvent({ type: 'heartbeat' });
    expect(statSync(seen).mtimeMs).toBeGreaterThan(0);
    utimesSync(seen, longAgo, longAgo);
    await wait();
    await setImmediate();
    expect(statSync(seen).mtimeMs).toBeGreaterThan(0);
  });
});
