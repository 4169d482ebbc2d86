import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import {
  asHolder,
  lockIn,
  putLock
} from '../../../../test/kit/workspaces/lock-files.ts';
import { createTempWorkspace } from '../../../../test/kit/workspaces/temp-workspace.ts';
import { thisProcess } from '../../../adapters/child-process/process-table.ts';
import { remove } from '../files/atomic-file.ts';
import { LockQueue } from './lock-queue.ts';

let directory: string;

beforeEach(() => {
  const workspace = createTempWorkspace();
  onTestFinished(workspace.remove);
  directory = workspace.path;
});

/** A queue that records its batches. */
function queueOf(perform: (batch: string[]) => void = () => undefined) {
  const batches: string[][] = [];
  const prepared: boolean[] = [];
  const lock = lockIn(directory);
  onTestFinished(() => lock.close());
  const queue = new LockQueue<string>(
    lock,
    () => prepared.push(lock.isHeld()),
    (batch) => {
      expect(lock.isHeld()).toBe(true);
      batches.push(batch);
      perform(batch);
    }
  );
  return { queue, batches, prepared };
}

/** Holds the lock for a living process; returns a function that releases it. */
function holdLock(): () => void {
  putLock(directory, asHolder(thisProcess()));
  return () => remove(join(directory, 'lock'));
}

test('work that is added while another process holds the lock is done in one batch', async () => {
  const release = holdLock();
  const { queue, batches, prepared } = queueOf();
  const all = ['a', 'b', 'c'].map((work) => queue.add(work));
  expect(batches).toEqual([]);
  release();
  await Promise.all(all);
  expect(batches).toEqual([['a', 'b', 'c']]);
  expect(prepared).toEqual([false]);
  expect(existsSync(join(directory, 'lock'))).toBe(false);
});

test('work that is added during other work is done after it, in order', async () => {
  const later: Promise<void>[] = [];
  const { queue, batches } = queueOf((batch) => {
    if (batch.includes('first'))
      for (const work of ['second', 'third']) later.push(queue.add(work));
  });
  await queue.add('first');
  await Promise.all(later);
  expect(batches).toEqual([['first'], ['second', 'third']]);
});

test('failed work rejects the calls that added it, and no other call', async () => {
  const problem = new Error('no room');
  const release = holdLock();
  const { queue } = queueOf((batch) => {
    if (batch.includes('bad')) throw problem;
  });
  const together = ['good', 'bad'].map((work) => queue.add(work));
  release();
  for (const one of await Promise.allSettled(together))
    expect(one).toEqual({ status: 'rejected', reason: problem });
  await expect(queue.add('good')).resolves.toBeUndefined();
});

test('work that cannot be prepared is not done, and a later call can try again', async () => {
  let isReady = false;
  const batches: string[][] = [];
  const lock = lockIn(directory);
  onTestFinished(() => lock.close());
  const queue = new LockQueue<string>(
    lock,
    () => {
      if (!isReady) throw new Error('not there');
    },
    (batch) => batches.push(batch)
  );
  const results = await Promise.allSettled(['a', 'b'].map((w) => queue.add(w)));
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(batches).toEqual([]);
  isReady = true;
  await queue.add('c');
  expect(batches).toEqual([['c']]);
});

test('the last step runs without the lock, before the call resolves', async () => {
  const order: string[] = [];
  const lock = lockIn(directory);
  onTestFinished(() => lock.close());
  const queue = new LockQueue<string>(
    lock,
    () => undefined,
    () => order.push(`done, held: ${lock.isHeld()}`),
    () => order.push(`settled, held: ${lock.isHeld()}`)
  );
  await queue.add('a').then(() => order.push('resolved'));
  expect(order).toEqual([
    'done, held: true',
    'settled, held: false',
    'resolved'
  ]);
});

test('a thousand pieces of work are each done once, in order', async () => {
  const { queue, batches } = queueOf();
  const names = Array.from({ length: 1000 }, (_, index) => String(index));
  await Promise.all(
    names.map(async (name, index) => {
      // Some work is added at once, some while a batch runs.
      for (let turn = 0; turn < index % 7; turn += 1) await Promise.resolve();
      await queue.add(name);
    })
  );
  const done = batches.flat();
  expect(done.toSorted()).toEqual(names.toSorted());
  for (const rest of [0, 1, 2, 3, 4, 5, 6]) {
    const alike = done.map(Number).filter((number) => number % 7 === rest);
    expect(alike).toEqual(alike.toSorted((a, b) => a - b));
  }
});
