import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ComparisonTime, TimeLimit } from './time-limit.ts';

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

/** Work that ends only when it is aborted. */
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

test('work that takes too long is aborted, and the error says so', async () => {
  const failure = failureOf(new TimeLimit().within(5000, untilStopped));
  await vi.advanceTimersByTimeAsync(5000);
  const error = await failure;
  expect(error).toEqual(new Error('git did not finish within 5 s'));
  expect(TimeLimit.isPassed(error)).toBe(true);
});

test('work that ends in time keeps its result or its own error', async () => {
  const limits = new TimeLimit();
  expect(await limits.within(1, async () => 'done')).toBe('done');
  const failure = failureOf(limits.within(1, async () => Promise.reject('no')));
  expect(await failure).toBe('no');
  expect(vi.getTimerCount()).toBe(0);
});

test('a shortened limit applies to current and future work', async () => {
  const limits = new TimeLimit();
  const running = failureOf(limits.within(60_000, untilStopped));
  limits.shorten(1000);
  const following = failureOf(limits.within(60_000, untilStopped));
  await vi.advanceTimersByTimeAsync(1000);
  for (const failure of [running, following])
    expect(await failure).toEqual(new Error('git did not finish within 1 s'));
});

test('canceled work is aborted with the reason of its signal', async () => {
  const cancellation = new AbortController();
  const work = new TimeLimit().within(5000, untilStopped, cancellation.signal);
  const failure = failureOf(work);
  cancellation.abort(new Error('canceled'));
  const error = await failure;
  expect(error).toEqual(new Error('canceled'));
  expect(TimeLimit.isPassed(error)).toBe(false);
});

test('work that is already canceled is not started', async () => {
  const aborted = AbortSignal.abort(new Error('canceled'));
  let hasBegun = false;
  const work = async () => {
    hasBegun = true;
  };
  const failure = failureOf(new TimeLimit().within(5000, work, aborted));
  expect(await failure).toEqual(new Error('canceled'));
  expect(hasBegun).toBe(false);
});

test('time in which this process was paused does not count', async () => {
  vi.useRealTimers();
  const work = (signal: AbortSignal) =>
    new Promise<string>((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason));
      setTimeout(resolve, 100, 'done');
    });
  const result = new TimeLimit().within(50, work);
  // Like SIGSTOP: no timer runs, and the clock goes on.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2300);
  expect(await result).toBe('done');
});

test('a snapshot amid which this process was paused takes no time from the comparison', () => {
  const time = new ComparisonTime();
  const now = performance.now();
  time.noteSnapshot('quick', now - 500);
  time.noteSnapshot('slow', now - 3700);
  time.noteSnapshot('paused', now - 3_600_000);
  const left = ['quick', 'slow', 'paused'].map((id) => time.start(id)());
  expect(left).toEqual([3500, 300, 3000]);
});
