import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { thisProcess } from '../../adapters/child-process/process-table.ts';
import { asHolder, lockIn, putLock } from '../../testing/lock-files.ts';
import { createTempWorkspace } from '../../testing/temp-workspace.ts';
import { remove } from './atomic-file.ts';
import { LockQueue } from './lock-queue.ts';

let directory: string;

beforeEach(() => {
  const workspace = createTempWorkspace();
  onTestFinished(workspace.remove);
  directory = workspace.path;
});

/** A queue that notes what it does in one holding of its lock. */
function queueOf(perform: (works: string[]) => void = () => undefined) {
  const holdings: string[][] = [];
  const prepared: boolean[] = [];
  const lock = lockIn(directory);
  onTestFinished(() => lock.close());
  const queue = new LockQueue<string>(
    lock,
    () => prepared.push(lock.isHeld()),
    (works) => {
      expect(lock.isHeld()).toBe(true);
      holdings.push(works);
      perform(works);
    }
  );
  return { queue, holdings, prepared };
}

/** Somebody who lives holds the lock, until it is given back. */
function held(): () => void {
  putLock(directory, asHolder(thisProcess()));
  return () => remove(join(directory, 'lock'));
}

test('what comes while the lock is held by others is done in one holding', async () => {
  const release = held();
  const { queue, holdings, prepared } = queueOf();
  const all = ['a', 'b', 'c'].map((work) => queue.add(work));
  expect(holdings).toEqual([]);
  release();
  await Promise.all(all);
  expect(holdings).toEqual([['a', 'b', 'c']]);
  expect(prepared).toEqual([false]);
  expect(existsSync(join(directory, 'lock'))).toBe(false);
});

test('what comes while others are at work is done after them, in its order', async () => {
  const later: Promise<void>[] = [];
  const { queue, holdings } = queueOf((works) => {
    if (works.includes('first'))
      for (const work of ['second', 'third']) later.push(queue.add(work));
  });
  await queue.add('first');
  await Promise.all(later);
  expect(holdings).toEqual([['first'], ['second', 'third']]);
});

test('work that fails is told to those whose work it was, and to nobody else', async () => {
  const problem = new Error('no room');
  const release = held();
  const { queue } = queueOf((works) => {
    if (works.includes('bad')) throw problem;
  });
  const together = ['good', 'bad'].map((work) => queue.add(work));
  release();
  for (const one of await Promise.allSettled(together))
    expect(one).toEqual({ status: 'rejected', reason: problem });
  await expect(queue.add('good')).resolves.toBeUndefined();
});

test('what cannot be prepared is not done, and keeps nobody from trying again', async () => {
  let isReady = false;
  const holdings: string[][] = [];
  const lock = lockIn(directory);
  onTestFinished(() => lock.close());
  const queue = new LockQueue<string>(
    lock,
    () => {
      if (!isReady) throw new Error('not there');
    },
    (works) => holdings.push(works)
  );
  const results = await Promise.allSettled(['a', 'b'].map((w) => queue.add(w)));
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(holdings).toEqual([]);
  isReady = true;
  await queue.add('c');
  expect(holdings).toEqual([['c']]);
});

test('what remains is done without the lock, before anybody is told', async () => {
  const order: string[] = [];
  const lock = lockIn(directory);
  onTestFinished(() => lock.close());
  const queue = new LockQueue<string>(
    lock,
    () => undefined,
    () => order.push(`done, held: ${lock.isHeld()}`),
    () => order.push(`settled, held: ${lock.isHeld()}`)
  );
  await queue.add('a').then(() => order.push('told'));
  expect(order).toEqual(['done, held: true', 'settled, held: false', 'told']);
});

test('a thousand works of one process are done once each, in their order', async () => {
  const { queue, holdings } = queueOf();
  const names = Array.from({ length: 1000 }, (_, index) => String(index));
  await Promise.all(
    names.map(async (name, index) => {
      // Some come at once, some while others are done.
      for (let turn = 0; turn < index % 7; turn += 1) await Promise.resolve();
      await queue.add(name);
    })
  );
  const done = holdings.flat();
  expect(done.toSorted()).toEqual(names.toSorted());
  for (const rest of [0, 1, 2, 3, 4, 5, 6]) {
    const alike = done.map(Number).filter((number) => number % 7 === rest);
    expect(alike).toEqual(alike.toSorted((a, b) => a - b));
  }
});
