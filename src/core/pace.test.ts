import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Pace } from './pace.ts';

test('the first goes on at once, the others one in a turn, in order', async () => {
  const pace = new Pace();
  const done: number[] = [];
  expect(pace.turn()).toBeUndefined();
  for (const n of [1, 2]) void pace.turn()?.then(() => done.push(n));
  expect(done).toEqual([]);
  for (const expected of [[1], [1, 2]]) {
    await nextTurn();
    expect(done).toEqual(expected);
  }
});

test('who comes when nobody waits goes on at once again', async () => {
  const pace = new Pace();
  pace.turn();
  await pace.turn();
  await nextTurn();
  await nextTurn();
  expect(pace.turn()).toBeUndefined();
});

test('what is for later never goes on at once', async () => {
  const pace = new Pace();
  const done: string[] = [];
  void pace.later().then(() => done.push('later'));
  expect(pace.turn()).toBeInstanceOf(Promise);
  expect(done).toEqual([]);
  await nextTurn();
  expect(done).toEqual(['later']);
});
