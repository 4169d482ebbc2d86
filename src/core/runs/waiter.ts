import type { Run } from './run.ts';
import { hasExited } from './run-files.ts';
import type { RunStore } from './run-store.ts';
import type { RunTracker } from './run-tracker.ts';

export interface WaitOptions {
  agentIds: string[];
  mode: 'all' | 'any';
  timeoutMs: number;
  signal?: AbortSignal | undefined;
  /** Called at the start, after each end, and every 5 s while waiting. */
  onProgress?: (finished: Run[], waiting: Run[]) => void;
}

export interface WaitResult {
  finished: Run[];
  waiting: Run[];
  elapsedMs: number;
}

/** Other servers' runs are looked at this often; ours call us. */
const pollMs = 40;
const fullLookMs = 1000;
const progressMs = 5000;

/**
 * Waits for runs of any server. Giving up changes nothing about them.
 * @throws HostError `storage_full` when an end cannot be written down
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
  const look = async (ids: string[]) => {
    for (const id of ids) {
      if (done.has(id)) continue;
      const run = await tracker.run(id);
      if (run?.outcome) {
        done.set(id, run);
        waiting.delete(id);
      } else if (run) waiting.set(id, run);
    }
  };
  const enough = () =>
    done.size >= agentIds.length || (mode === 'any' && done.size > 0);
  await look(agentIds);
  let lastLook = elapsed();
  let lastProgress = Number.NEGATIVE_INFINITY;
  let lastDone = -1;
  while (!enough() && elapsed() < timeoutMs && !signal?.aborted) {
    if (done.size > lastDone || elapsed() - lastProgress >= progressMs) {
      lastProgress = elapsed();
      lastDone = done.size;
      options.onProgress?.([...done.values()], [...waiting.values()]);
    }
    const rest = Math.max(1, Math.min(pollMs, timeoutMs - elapsed()));
    await nextEvent(tracker, rest, signal);
    const full = elapsed() - lastLook >= fullLookMs;
    if (full) lastLook = elapsed();
    await look(full ? [...waiting.keys()] : ended(waiting, store));
  }
  return {
    finished: agentIds.flatMap((id) => done.get(id) ?? []),
    waiting: [...waiting.values()],
    elapsedMs: elapsed()
  };
}

/** Waited-for runs that have left an exit code or an outcome. */
function ended(waiting: Map<string, Run>, store: RunStore): string[] {
  return [...waiting.keys()].filter(
    (id) => hasExited(store.directoryOf(id)) || store.outcomeOf(id)
  );
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
