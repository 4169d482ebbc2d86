import type { HostError } from '../../errors.ts';
import { unlessCorrupt } from '../damaged-run.ts';
import type { Run, RunRecord } from '../run.ts';
import type { RunEvents } from '../run-events.ts';
import { hasExited, wasClaimed } from '../run-files.ts';
import type { RunStore } from '../run-store.ts';
import type { RunTracker } from './run-tracker.ts';

export interface WaitOptions {
  agentIds: string[];
  mode: 'all' | 'any';
  timeoutMs: number;
  signal?: AbortSignal | undefined;
  /** Ends the wait early, such as when an awaited run asks for something. */
  isInterrupted?: ((waiting: Run[]) => boolean) | undefined;
  /** Called at the start and after each end, while runs are awaited. */
  onProgress?: (finished: Run[], waiting: Run[]) => void;
}

/** A run whose files were tampered with. */
export interface CorruptRun {
  agentId: string;
  problem: HostError;
}

/** A run whose folder was removed before it had ended. */
export interface LostRun {
  agentId: string;
  /** What happened to it, in one sentence. */
  message: string;
}

export interface WaitResult {
  finished: Run[];
  waiting: Run[];
  /** Includes runs that may be ending now. */
  lost: LostRun[];
  /** Ids of those of `lost` that may be ending now. */
  missing: string[];
  /** Runs whose state cannot be known. */
  spoilt: CorruptRun[];
  elapsedMs: number;
}

/** Poll interval for runs of other servers; ends of own runs are published. */
const pollMs = 40;
/** Interval at which every awaited run is refreshed. */
const fullCheckMs = 1000;

/**
 * Waits for runs of any server. A timeout or an abort does not change them.
 * @throws HostError `storage_full` when an end cannot be recorded,
 *   `state_invalid` when all of the runs have been tampered with
 */
export async function waitForRuns(
  tracker: RunTracker,
  store: RunStore,
  events: RunEvents,
  options: WaitOptions
): Promise<WaitResult> {
  const { agentIds, mode, timeoutMs, signal } = options;
  const began = performance.now();
  const elapsed = () => performance.now() - began;
  const done = new Map<string, Run>();
  const waiting = new Map<string, Run>();
  const gone = new Set<string>();
  const lost = new Map<string, LostRun>();
  const missing = new Set<string>();
  const corrupt = new Map<string, CorruptRun>();
  const check = async (ids: string[]) => {
    for (const id of ids) {
      if (done.has(id)) continue;
      missing.delete(id);
      const run = await unlessCorrupt(tracker.run(id), (problem) =>
        corrupt.set(id, { agentId: id, problem })
      );
      if (run?.outcome) {
        done.set(id, run);
        waiting.delete(id);
      } else if (run) waiting.set(id, run);
      else if (corrupt.has(id) || store.sizes.goneAt(id) !== undefined) {
        // Tampered with, or cleaned away after another caller read the answer.
        gone.add(id);
        waiting.delete(id);
      } else {
        const message = store.lost.messageOnceLost(id);
        waiting.delete(id);
        if (message === undefined) missing.add(id);
        else lost.set(id, { agentId: id, message });
      }
    }
  };
  const enough = () =>
    done.size + gone.size + lost.size >= agentIds.length ||
    (mode === 'any' && done.size > 0);
  const settled = new Set<string>();
  let wake = (): void => undefined;
  const unsubscribe = onRunOver(events, ({ agent_id: id }) => {
    settled.add(id);
    wake();
  });
  try {
    await check(agentIds);
    let [lastFullCheck, lastPoll] = [elapsed(), elapsed()];
    let lastDone = -1;
    const isInterrupted = () =>
      options.isInterrupted?.([...waiting.values()]) ?? false;
    while (
      !enough() &&
      !isInterrupted() &&
      elapsed() < timeoutMs &&
      !signal?.aborted
    ) {
      if (done.size > lastDone) {
        lastDone = done.size;
        options.onProgress?.([...done.values()], [...waiting.values()]);
      }
      const rest = Math.max(1, Math.min(pollMs, timeoutMs - elapsed()));
      if (settled.size === 0)
        await pause(rest, signal, (resume) => {
          wake = resume;
        });
      // Each run is read once, even if hundreds end in quick succession.
      const news = [...settled].filter((id) => waiting.has(id));
      settled.clear();
      const isFull = elapsed() - lastFullCheck >= fullCheckMs;
      const isPoll = isFull || elapsed() - lastPoll >= pollMs;
      if (isFull) lastFullCheck = elapsed();
      if (isPoll) lastPoll = elapsed();
      const seen = isPoll ? ended(waiting, tracker, store) : news;
      await check(isFull ? [...waiting.keys(), ...missing] : seen);
    }
  } finally {
    unsubscribe();
  }
  const [first] = corrupt.values();
  for (const id of missing)
    lost.set(id, { agentId: id, message: isBeingEnded(id) });
  const others = done.size + waiting.size + lost.size;
  if (first && others === 0) throw first.problem;
  return {
    lost: agentIds.flatMap((id) => lost.get(id) ?? []),
    missing: [...missing],
    spoilt: [...corrupt.values()],
    finished: agentIds.flatMap((id) => done.get(id) ?? []),
    waiting: [...waiting.values()],
    elapsedMs: elapsed()
  };
}

function isBeingEnded(agentId: string): string {
  return `The folder of agent ${agentId} in the record was removed before it had ended; the server that started it ends it now.`;
}

/** Ids of the awaited runs that have an exit code or an outcome. */
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

/** Calls the listener for each run that is over, even if not recorded here. */
function onRunOver(
  events: RunEvents,
  listener: (record: RunRecord) => void
): () => void {
  const unsubscribes = [
    events.onRunChanged(listener),
    events.onRunEnded(({ record }) => listener(record))
  ];
  return () => {
    for (const unsubscribe of unsubscribes) unsubscribe();
  };
}

/** Resolves after the time, on an abort, or when `resume` is called. */
function pause(
  milliseconds: number,
  signal: AbortSignal | undefined,
  onPaused: (resume: () => void) => void
): Promise<void> {
  return new Promise((resolve) => {
    const resume = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', resume);
      resolve();
    };
    const timer = setTimeout(resume, milliseconds);
    signal?.addEventListener('abort', resume, { once: true });
    onPaused(resume);
  });
}
