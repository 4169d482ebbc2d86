import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { recur } from './recur.ts';

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

test('work is done again after each pause, until it is ended', async () => {
  const work = vi.fn(async () => undefined);
  const end = recur(700, work, vi.fn());
  await vi.advanceTimersByTimeAsync(699);
  expect(work).toHaveBeenCalledTimes(0);
  await vi.advanceTimersByTimeAsync(1401);
  expect(work).toHaveBeenCalledTimes(3);

  end();
  await vi.advanceTimersByTimeAsync(5000);
  expect(work).toHaveBeenCalledTimes(3);
});

test('it never overlaps itself, and an end during the work is the end', async () => {
  let finish = () => {};
  const work = vi.fn(
    () =>
      new Promise<void>((resolve) => {
        finish = resolve;
      })
  );
  const end = recur(100, work, vi.fn());
  await vi.advanceTimersByTimeAsync(1000);
  expect(work).toHaveBeenCalledTimes(1);

  end();
  finish();
  await vi.advanceTimersByTimeAsync(1000);
  expect(work).toHaveBeenCalledTimes(1);
});

test('what fails is done again, and told once while it fails alike', async () => {
  const problems = ['one', 'one', 'two'].map((words) => new Error(words));
  let count = 0;
  const work = vi.fn(async () => {
    const problem = problems[count];
    count += 1;
    if (problem) throw problem;
  });
  const onProblem = vi.fn();
  const end = recur(100, work, onProblem);
  await vi.advanceTimersByTimeAsync(500);
  end();
  expect(work).toHaveBeenCalledTimes(5);
  expect(onProblem.mock.calls).toEqual([[problems[0]], [problems[2]]]);
});
