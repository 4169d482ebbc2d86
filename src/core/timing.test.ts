import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { poll, Throttle } from './timing.ts';

describe('recurring work', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  test('runs after each pause until it is ended', async () => {
    const work = vi.fn(async () => undefined);
    const end = poll(700, work, vi.fn());
    await vi.advanceTimersByTimeAsync(699);
    expect(work).toHaveBeenCalledTimes(0);
    await vi.advanceTimersByTimeAsync(1401);
    expect(work).toHaveBeenCalledTimes(3);

    end();
    await vi.advanceTimersByTimeAsync(5000);
    expect(work).toHaveBeenCalledTimes(3);
  });

  test('never overlaps itself, and ends even while a round is running', async () => {
    let finish = () => {};
    const work = vi.fn(
      () =>
        new Promise<void>((resolve) => {
          finish = resolve;
        })
    );
    const end = poll(100, work, vi.fn());
    await vi.advanceTimersByTimeAsync(1000);
    expect(work).toHaveBeenCalledTimes(1);

    end();
    finish();
    await vi.advanceTimersByTimeAsync(1000);
    expect(work).toHaveBeenCalledTimes(1);
  });

  test('goes on after a failure, and reports equal failures once', async () => {
    const problems = ['one', 'one', 'two'].map((words) => new Error(words));
    let count = 0;
    const work = vi.fn(async () => {
      const problem = problems[count];
      count += 1;
      if (problem) throw problem;
    });
    const onProblem = vi.fn();
    const end = poll(100, work, onProblem);
    await vi.advanceTimersByTimeAsync(500);
    end();
    expect(work).toHaveBeenCalledTimes(5);
    expect(onProblem.mock.calls).toEqual([[problems[0]], [problems[2]]]);
  });
});

describe('a throttle', () => {
  test('lets the first piece run at once and then one a turn, in order', async () => {
    const throttle = new Throttle();
    const done: number[] = [];
    expect(throttle.turn()).toBeUndefined();
    for (const n of [1, 2]) void throttle.turn()?.then(() => done.push(n));
    expect(done).toEqual([]);
    for (const expected of [[1], [1, 2]]) {
      await nextTurn();
      expect(done).toEqual(expected);
    }
  });

  test('lets work run at once again when none is waiting', async () => {
    const throttle = new Throttle();
    throttle.turn();
    await throttle.turn();
    await nextTurn();
    await nextTurn();
    expect(throttle.turn()).toBeUndefined();
  });
});
