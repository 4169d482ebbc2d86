import { join } from 'node:path';
import type { Failure } from '../../../plugin/plugin.ts';
import { sizeOf } from '../../state/files/text-file.ts';
import { awakeMs } from '../../timing.ts';
import { silenceLimitOf } from '../program.ts';
import type { RunRecord } from '../run.ts';
import { noteLoss } from '../run-files.ts';
import type { ReplySoFar } from './live-output.ts';

/** A run that exceeds a limit by this much has lost its own watchdog. */
const overdueMs = 10_000;

interface Watched {
  /** Milliseconds of the monotonic clock, like all times here. */
  since: number;
  checkedAt: number;
  /** Bytes of both output files. */
  output: number;
  stdout: number;
  /** When the output last grew. */
  quietSince: number;
  /** The current failure streak, and when it was first seen. */
  retries: { streak: number; times: number; since: number } | undefined;
}

/** The limit that a run has passed, so that it has to end now. */
export type Passed =
  | { why: 'timeout' | 'idle_timeout' | 'output_limit' }
  | { why: 'retries'; failure: Failure; reason?: string };

/** Checks runs against their limits. The caller does so every second. */
export class Watchdog {
  readonly #watched = new Map<string, Watched>();

  /**
   * @param said the reply so far, if retries are limited; the streak's number
   *   shows whether another streak began between two checks
   * @param isAsking the limits of time and silence pause since the last check
   * @param now by `awakeMs`
   */
  passed(
    record: RunRecord,
    directory: string,
    said: ReplySoFar | undefined,
    isAsking = false,
    now = awakeMs()
  ): Passed | undefined {
    const { agent_id: id, timeout_seconds, output_limit_bytes } = record;
    const stdout = this.noteTruncation(id, directory);
    const output = stdout + sizeOf(join(directory, 'stderr'));
    const fresh = {
      ...{ since: now, checkedAt: now, output, stdout },
      ...{ quietSince: now, retries: undefined }
    };
    const watched = this.#watched.get(id) ?? fresh;
    this.#watched.set(id, watched);
    watched.stdout = stdout;
    const pausedMs = isAsking ? now - watched.checkedAt : 0;
    watched.since += pausedMs;
    watched.quietSince += pausedMs;
    watched.checkedAt = now;
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
    const leftMs = Math.min(
      ...(timeout_seconds > 0 ? [timeout_seconds * 1000 - ranMs] : []),
      ...(idleMs > 0 ? [idleMs - quietMs] : [])
    );
    return (
      tooLongToWait(said, leftMs) ??
      pastRetries(watched, record.retry_seconds ?? 0, said, now)
    );
  }

  /**
   * Notes that a run's stdout has become shorter since the last check. Later,
   * the loss cannot be seen. Returns the size.
   */
  noteTruncation(id: string, directory: string): number {
    const stdout = sizeOf(join(directory, 'stdout'));
    if (stdout < (this.#watched.get(id)?.stdout ?? 0))
      noteLoss(directory, 'emptied');
    return stdout;
  }

  /** Ids of the runs that were checked. */
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

/** Ends a run at once if it would wait longer than it may run. */
function tooLongToWait(
  said: ReplySoFar | undefined,
  leftMs: number
): Passed | undefined {
  const { retrying, finished, failure } = said?.reply ?? {};
  const { waitSeconds, why } = retrying ?? {};
  if (finished || failure || waitSeconds === undefined || !why)
    return undefined;
  if (waitSeconds * 1000 <= leftMs) return undefined;
  const until = new Date(Date.now() + waitSeconds * 1000).toISOString();
  const code = why.code === 'rate_limited' ? 'quota' : why.code;
  return {
    why: 'retries',
    failure: { ...why, code },
    reason: `would wait until ${until.slice(0, 10)} ${until.slice(11, 16)} UTC, which is longer than it may run,`
  };
}

/**
 * Only another failure ends a run, never the time since the last one, because
 * an answer may take long. The limit of a streak is at least a tenth of the
 * time that the run had worked before, because a long run has more to lose.
 */
function pastRetries(
  watched: Watched,
  limitSeconds: number,
  said: ReplySoFar | undefined,
  now: number
): Passed | undefined {
  const { retries: before } = watched;
  const { retrying, finished, failure } = said?.reply ?? {};
  watched.retries = undefined;
  if (!said || !retrying || finished || failure || limitSeconds === 0)
    return undefined;
  const { times, why } = retrying;
  const known = before?.streak === said.streak ? before : undefined;
  const since = known?.since ?? now;
  watched.retries = { streak: said.streak, times, since };
  const limitMs = Math.max(limitSeconds * 1000, (since - watched.since) / 10);
  const failedAgain = known !== undefined && times > known.times;
  return failedAgain && now - since >= limitMs
    ? { why: 'retries', failure: why }
    : undefined;
}
