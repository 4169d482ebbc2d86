import { join } from 'node:path';
import type { Failure, Reply } from '../../plugin.ts';
import { sizeOf } from '../state/text-file.ts';
import type { RunRecord } from './run.ts';

/** Past its time limit by this much, a run's own watchdog must be gone. */
const overdueMs = 10_000;

interface Watched {
  /** All times are of the monotonic clock. */
  since: number;
  /** The failures in a row it is at, and when the first was seen. */
  retries: { times: number; since: number } | undefined;
}

/** Why a run has to end now. */
export type Passed =
  | { why: 'timeout' | 'output_limit' }
  | { why: 'retries'; failure: Failure };

/** What runs may not go beyond, as somebody who looks every second sees it. */
export class Limits {
  readonly #watched = new Map<string, Watched>();

  /**
   * @param reply what the run has said so far, when its retries count
   * @param now milliseconds of a monotonic clock
   */
  passed(
    record: RunRecord,
    directory: string,
    reply: Reply | undefined,
    now = performance.now()
  ): Passed | undefined {
    const { agent_id: id, timeout_seconds, output_limit_bytes } = record;
    const watched = this.#watched.get(id) ?? { since: now, retries: undefined };
    this.#watched.set(id, watched);
    const ranMs = now - watched.since;
    if (timeout_seconds > 0 && ranMs > timeout_seconds * 1000 + overdueMs)
      return { why: 'timeout' };
    const output =
      sizeOf(join(directory, 'stdout')) + sizeOf(join(directory, 'stderr'));
    if (output_limit_bytes > 0 && output > output_limit_bytes)
      return { why: 'output_limit' };
    return pastRetries(watched, record.retry_seconds ?? 0, reply, now);
  }

  /** Runs that were looked at. */
  known(): Iterable<string> {
    return this.#watched.keys();
  }

  knows(id: string): boolean {
    return this.#watched.has(id);
  }

  forget(id: string): void {
    this.#watched.delete(id);
  }
}

/**
 * Only one more failure ends a run, never the time since the last: an answer
 * may be long in coming.
 */
function pastRetries(
  watched: Watched,
  limitSeconds: number,
  reply: Reply | undefined,
  now: number
): Passed | undefined {
  const { retries } = watched;
  const { retrying, finished, failure } = reply ?? {};
  if (!retrying || finished || failure || limitSeconds === 0) {
    watched.retries = undefined;
    return undefined;
  }
  const { times, why } = retrying;
  const goesOn = retries !== undefined && times >= retries.times;
  const since = goesOn ? retries.since : now;
  watched.retries = { times, since };
  const isMore = goesOn && times > retries.times;
  return isMore && now - since >= limitSeconds * 1000
    ? { why: 'retries', failure: why }
    : undefined;
}
