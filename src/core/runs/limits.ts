import { join } from 'node:path';
import type { Failure, Reply } from '../../plugin.ts';
import { sizeOf } from '../state/text-file.ts';
import { silenceLimitOf } from './program.ts';
import type { RunRecord } from './run.ts';

/** Past one of its times by this much, a run's own watchdog must be gone. */
const overdueMs = 10_000;

interface Watched {
  /** All times are of the monotonic clock. */
  since: number;
  /** Bytes that it has put out, and since when no more than these. */
  output: number;
  quietSince: number;
  /** The failures in a row it is at, and when the first was seen. */
  retries: { row: number; times: number; since: number } | undefined;
}

/** What a run has said, and its how manieth row of failures it is at. */
export interface Said {
  reply: Reply;
  row: number;
}

/** Why a run has to end now. */
export type Passed =
  | { why: 'timeout' | 'idle_timeout' | 'output_limit' }
  | { why: 'retries'; failure: Failure };

/** What runs may not go beyond, as somebody who looks every second sees it. */
export class Limits {
  readonly #watched = new Map<string, Watched>();

  /**
   * @param said what the run has said so far, when its retries count, and
   *   which row of failures it is at: between two looks one may end and
   *   another begin
   * @param now milliseconds of a monotonic clock
   */
  passed(
    record: RunRecord,
    directory: string,
    said: Said | undefined,
    now = performance.now()
  ): Passed | undefined {
    const { agent_id: id, timeout_seconds, output_limit_bytes } = record;
    const output =
      sizeOf(join(directory, 'stdout')) + sizeOf(join(directory, 'stderr'));
    const fresh = { since: now, output, quietSince: now, retries: undefined };
    const watched = this.#watched.get(id) ?? fresh;
    this.#watched.set(id, watched);
    if (watched.output !== output)
      Object.assign(watched, { output, quietSince: now });
    const ranMs = now - watched.since;
    if (timeout_seconds > 0 && ranMs > timeout_seconds * 1000 + overdueMs)
      return { why: 'timeout' };
    const quietMs = now - watched.quietSince;
    const idleMs = silenceLimitOf(record) * 1000;
    if (idleMs > 0 && quietMs > idleMs + overdueMs)
      return { why: 'idle_timeout' };
    if (output_limit_bytes > 0 && output > output_limit_bytes)
      return { why: 'output_limit' };
    return pastRetries(watched, record.retry_seconds ?? 0, said, now);
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
 * may be long in coming. Who has worked for long has more to lose and is given
 * a tenth of that time.
 */
function pastRetries(
  watched: Watched,
  limitSeconds: number,
  said: Said | undefined,
  now: number
): Passed | undefined {
  const { retries: before } = watched;
  const { retrying, finished, failure } = said?.reply ?? {};
  watched.retries = undefined;
  if (!said || !retrying || finished || failure || limitSeconds === 0)
    return undefined;
  const { times, why } = retrying;
  const known = before?.row === said.row ? before : undefined;
  const since = known?.since ?? now;
  watched.retries = { row: said.row, times, since };
  const limitMs = Math.max(limitSeconds * 1000, (since - watched.since) / 10);
  const failedAgain = known !== undefined && times > known.times;
  return failedAgain && now - since >= limitMs
    ? { why: 'retries', failure: why }
    : undefined;
}
