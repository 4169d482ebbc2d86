import type { HostError } from '../errors.ts';
import type { Run } from './run.ts';
import { hasExited, wasClaimed } from './run-files.ts';
import type { RunStore } from './run-store.ts';
import type { RunTracker } from './run-tracker.ts';
import { unlessSpoilt } from './spoilt.ts';

export interface WaitOptions {
  agentIds: string[];
  mode: 'all' | 'any';
  timeoutMs: number;
  signal?: AbortSignal | undefined;
  /** Called at the start, after each end, and every 5 s while waiting. */
  onProgress?: (finished: Run[], waiting: Run[]) => void;
}

/** Of a run whose files somebody has spoilt. */
export interface SpoiltRun {
  agentId: string;
  problem: HostError;
}

export interface WaitResult {
  finished: Run[];
  waiting: Run[];
  /** Of these nobody can say how they stand. */
  spoilt: SpoiltRun[];
  elapsedMs: number;
}

/** Other servers' runs are looked at this often; ours call us. */
const pollMs = 40;
const fullLookMs = 1000;
const progressMs = 5000;

/**
 * Waits for runs of any server. Giving up changes nothing about them.
 * @throws HostError `storage_full` when an end cannot be written down,
 *   `state_invalid` when all that is asked for has been spoilt
 */
export async function waitForRuns(
  tracker: RunTracker,
  store: RunStore,
  options: WaitOptions
): Promise<WaitResult> {
  const { agentIds, mode, timeoutMs, signal } = options;
  const began = performance.now();
  const elapsed = () => performance.now() - began;
  const done = new Map<string, Run>();
  const waiting = new Map<string, Run>();
  const gone = new Set<string>();
  const spoilt = new Map<string, SpoiltRun>();
  const look = async (ids: string[]) => {
    for (const id of ids) {
      if (done.has(id)) continue;
      const run = await unlessSpoilt(tracker.run(id), (problem) =>
        spoilt.set(id, { agentId: id, problem })
      );
      if (run?.outcome) {
        done.set(id, run);
        waiting.delete(id);
      } else if (run) waiting.set(id, run);
      else {
        // Spoilt, or read by others and cleaned away since.
        gone.add(id);
        waiting.delete(id);
      }
    }
  };
  const enough = () =>
    done.size + gone.size >= agentIds.length ||
    (mode === 'any' && done.size > 0);
  const settled = new Set<string>();
  const unsubscribe = tracker.subscribe((id) => settled.add(id));
  try {
    await look(agentIds);
    let [lastLook, lastPoll] = [elapsed(), elapsed()];
    let lastProgress = Number.NEGATIVE_INFINITY;
    let lastDone = -1;
    while (!enough() && elapsed() < timeoutMs && !signal?.aborted) {
      if (done.size > lastDone || elapsed() - lastProgress >= progressMs) {
        lastProgress = elapsed();
        lastDone = done.size;
        options.onProgress?.([...done.values()], [...waiting.values()]);
      }
      const rest = Math.max(1, Math.min(pollMs, timeoutMs - elapsed()));
      if (settled.size === 0) await nextEvent(tracker, rest, signal);
      // Of hundreds that end one after the other, each is looked at once.
      const news = [...settled].filter((id) => waiting.has(id));
      settled.clear();
      const isFull = elapsed() - lastLook >= fullLookMs;
      const isPoll = isFull || elapsed() - lastPoll >= pollMs;
      if (isFull) lastLook = elapsed();
      if (isPoll) lastPoll = elapsed();
      const seen = isPoll ? ended(waiting, tracker, store) : news;
      await look(isFull ? [...waiting.keys()] : seen);
    }
  } finally {
    unsubscribe();
  }
  const [first] = spoilt.values();
  if (first && done.size + waiting.size === 0) throw first.problem;
  return {
    spoilt: [...spoilt.values()],
    finished: agentIds.flatMap((id) => done.get(id) ?? []),
    waiting: [...waiting.values()],
    elapsedMs: elapsed()
  };
}

/** Waited-for runs that have left an exit code or an outcome. */
function ended(
  waiting: Map<string, Run>,
  tracker: RunTracker,
  store: RunStore
): string[] {
  return [...waiting.keys()].filter((id) => {
    if (store.hasOutcome(id)) return true;
    const directory = store.directoryOf(id);
    return (
      wasClaimed(directory) && !tracker.isFollowed(id) && hasExited(directory)
    );
  });
}

/** The next settled run, the end of a pause, or a cancelled wait. */
function nextEvent(
  tracker: RunTracker,
  milliseconds: number,
  signal: AbortSignal | undefined
): Promise<void> {
  return new Promise((resolve) => {
    const finish = () => {
      clearTimeout(timer);
      unsubscribe();
      signal?.removeEventListener('abort', finish);
      resolve();
    };
    const timer = setTimeout(finish, milliseconds);
    const unsubscribe = tracker.subscribe(finish);
    signal?.addEventListener('abort', finish, { once: true });
  });
}
