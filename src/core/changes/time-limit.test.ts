import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { TimeLimit } from './time-limit.ts';

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

/** Work that never ends by itself. */
function untilStopped(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(new Error('killed')));
  });
}

function failureOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => undefined,
    (error: unknown) => error
  );
}

test('work that takes too long is stopped, and that is what is said', async () => {
  const failure = failureOf(new TimeLimit().within(5000, untilStopped));
  await vi.advanceTimersByTimeAsync(5000);
  const error = await failure;
  expect(error).toEqual(new Error('git was not done within 5 s'));
  expect(TimeLimit.isPassed(error)).toBe(true);
});

test('work that is done in time is done, and its own failure its own', async () => {
  const limits = new TimeLimit();
  expect(await limits.within(1, async () => 'done')).toBe('done');
  const failure = failureOf(limits.within(1, async () => Promise.reject('no')));
  expect(await failure).toBe('no');
  expect(vi.getTimerCount()).toBe(0);
});

test('once time is short, what runs and what follows gets less', async () => {
  const limits = new TimeLimit();
  const running = failureOf(limits.within(60_000, untilStopped));
  limits.shorten(1000);
  const following = failureOf(limits.within(60_000, untilStopped));
  await vi.advanceTimersByTimeAsync(1000);
  for (const failure of [running, following])
    expect(await failure).toEqual(new Error('git was not done within 1 s'));
});

test('work that nobody wants any more is stopped for that reason', async () => {
  const unwanted = new AbortController();
  const work = new TimeLimit().within(5000, untilStopped, unwanted.signal);
  const failure = failureOf(work);
  unwanted.abort(new Error('canceled'));
  const error = await failure;
  expect(error).toEqual(new Error('canceled'));
  expect(TimeLimit.isPassed(error)).toBe(false);
});

test('work that nobody wants any more is not begun', async () => {
  const unwanted = AbortSignal.abort(new Error('canceled'));
  let hasBegun = false;
  const work = async () => {
    hasBegun = true;
  };
  const failure = failureOf(new TimeLimit().within(5000, work, unwanted));
  expect(await failure).toEqual(new Error('canceled'));
  expect(hasBegun).toBe(false);
});
