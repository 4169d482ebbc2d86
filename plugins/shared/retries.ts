import type { Failure, Reply } from '../../src/plugin/plugin.ts';
import { shortLine } from './json-fields.ts';

/** Counts one more failure in a row, after which the program retries. */
export function failedAgain<R extends Reply>(reply: R, why: Failure): R {
  const times = (reply.retrying?.times ?? 0) + 1;
  return { ...reply, retrying: { times, why } };
}

/** Notes a delay that the provider requested; it is not one more failure. */
export function waits<R extends Reply>(
  reply: R,
  why: Failure,
  waitSeconds: number
): R {
  const times = reply.retrying?.times ?? 1;
  const progress = `waits ${Math.ceil(waitSeconds)} s after ${why.message}`;
  return {
    ...reply,
    progress: shortLine(progress),
    retrying: { times, why, waitSeconds }
  };
}
