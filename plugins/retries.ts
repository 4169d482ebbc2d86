import type { Failure, Reply } from '../src/plugin.ts';

/** One more failure in a row, which the program tries to get over. */
export function failedAgain<R extends Reply>(reply: R, why: Failure): R {
  const times = (reply.retrying?.times ?? 0) + 1;
  return { ...reply, retrying: { times, why } };
}
