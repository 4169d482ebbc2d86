import { existsSync, statSync } from 'node:fs';
import { messageOf } from '../errors.ts';
import type { Witnesses } from '../state/file-lock.ts';
import { mendLogs } from './mend-logs.ts';
import { hasLostServer } from './server-marks.ts';
import { Stopwatch } from './stopwatch.ts';
import type { TaskQueue } from './task-queue.ts';
import type { WorkerEnder } from './worker-ender.ts';
import type { WorkerStart } from './worker-start.ts';
import type { Worker, WorkerStore } from './worker-store.ts';

export interface AttendantParts {
  store: WorkerStore;
  start: WorkerStart;
  ender: WorkerEnder;
  witnesses: Witnesses;
  onProblem: (problem: unknown) => void;
}

/** A program that was told to stop has so long to end by itself. */
const stopGraceMs = 2000;
/** And so long at most, whatever it does meanwhile. */
const longestStopMs = 10_000;

/** A program that starts its server anew has so long for it. */
const unservedMs = 10_000;

/**
 * Looks after the workers of a workspace: notes which are gone or silent,
 * starts those again that are to be, and ends what is left of others. Any
 * number of servers may do so at once: what counts is written under a lock.
 */
export class Attendant {
  readonly #with: AttendantParts;
  readonly #clock = new Stopwatch();
  /** Nothing will ever happen to these again. */
  readonly #over = new Set<string>();
  /** What could not be done about whom, as it was told last. */
  readonly #told = new Map<string, string>();
  #isMended = false;
  readonly #looking = new Map<string, Promise<void>>();

  constructor(parts: AttendantParts) {
    this.#with = parts;
  }

  /** Looks at all workers that may still live. Never throws. */
  async attend(): Promise<void> {
    try {
      if (!this.#isMended) await this.#mend();
      await Promise.all(this.#attended().map((worker) => this.look(worker)));
    } catch (problem) {
      this.#tell('The workers', problem);
    }
  }

  async #mend(): Promise<void> {
    this.#isMended = true;
    await mendLogs(this.#with.store, (who, problem) =>
      this.#tell(who, problem)
    );
  }

  living(): Worker[] {
    return this.#attended().filter(({ log }) => !log.read().isOver);
  }

  /** Those of whom something is left to be done. */
  #attended(): Worker[] {
    const { store } = this.#with;
    const ids = store.ids().filter((id) => !this.#over.has(id));
    return ids
      .flatMap((id) => store.find(id) ?? [])
      .filter((worker) => this.#needsUs(worker));
  }

  #needsUs({ meta, folder, log }: Worker): boolean {
    try {
      // Who wrote its end down may have been killed before the rest.
      const isOver = log.read().isOver && !existsSync(folder.request);
      if (isOver) this.#over.add(meta.agent_id);
      return !isOver;
    } catch (problem) {
      // One whose files cannot be read must not keep us from the others.
      this.#tell(`Worker ${meta.agent_id}`, problem);
      return false;
    }
  }

  /** Once: it is looked at several times a second. */
  #tell(who: string, problem: unknown): void {
    const words = messageOf(problem);
    if (this.#told.get(who) === words) return;
    this.#told.set(who, words);
    this.#with.onProblem(`${who} cannot be looked at: ${words}`);
  }

  /** Never throws; calls side by side are one look. */
  look(worker: Worker): Promise<void> {
    const { agent_id: id } = worker.meta;
    const known = this.#looking.get(id);
    if (known) return known;
    const looking = this.#look(worker)
      .catch((problem: unknown) => this.#tell(`Worker ${id}`, problem))
      .finally(() => this.#looking.delete(id));
    this.#looking.set(id, looking);
    return looking;
  }

  async #look(worker: Worker): Promise<void> {
    const { start, ender } = this.#with;
    const settings = ender.termsOf(worker);
    const queue = worker.log.read();
    const { isReady, isForced, generation, phase } = queue.state;
    if (queue.isOver) return ender.leave(worker);
    if (isForced || start.isDisconnected(worker)) return ender.end(worker);
    // Who creates it waits for it, and says why it never came.
    if (!isReady && !this.#isOrphan(worker)) return;
    const state = start.stateOf(worker, generation);
    if (state === 'ended' || state === 'lost') return ender.end(worker);
    const mark = markOf(worker, queue);
    const hasBegun = start.hasBegun(worker, generation);
    const quietMs = this.#quietMs(worker, `${mark} ${hasBegun}`);
    if (this.#hasHadTime(worker, queue, quietMs)) return ender.end(worker);
    if (phase === 'working' && this.#isUnserved(worker))
      return ender.end(worker, 'its server ended, so that it was out of reach');
    if (phase === 'waiting' && quietMs > 1000 * settings.readyTimeoutSeconds)
      return ender.end(worker, 'it did not get ready in time');
    const isSilent = quietMs > 1000 * settings.stalledAfterSeconds;
    if (phase !== 'working' || !isSilent || queue.state.isStalled) return;
    await ender.record(worker, (now) =>
      markOf(worker, now) === mark && now.state.phase === 'working'
        ? [{ type: 'stalled', by: 'troupe' }]
        : []
    );
    await ender.publish(worker);
  }

  /**
   * It is to stop, and has nothing left to do. Some do not ask any more, and
   * some ask again and again though they were told.
   */
  #hasHadTime({ meta }: Worker, queue: TaskQueue, quietMs: number): boolean {
    const { stopAfter, phase } = queue.state;
    const isDue = stopAfter !== null && queue.tasks.length === 0;
    const sinceMs = this.#clock.sinceMs(`${meta.agent_id} stop`, String(isDue));
    if (!isDue) return false;
    const isTold = phase === 'stopping' && quietMs > stopGraceMs;
    return phase === 'waiting' || isTold || sinceMs > longestStopMs;
  }

  /** It never got ready, and the server that waited for that is gone. */
  #isOrphan(worker: Worker): boolean {
    const { start } = this.#with;
    const { generation } = worker.log.read().state;
    return generation > 1 || start.isOrphan(worker, generation);
  }

  /** Its program lives, and nobody is left to tell it anything. */
  #isUnserved({ meta, folder }: Worker): boolean {
    const { witnesses } = this.#with;
    const isLost = hasLostServer(folder, witnesses);
    const sinceMs = this.#clock.sinceMs(
      `${meta.agent_id} server`,
      String(isLost)
    );
    return isLost && sinceMs > unservedMs;
  }

  #quietMs({ meta }: Worker, mark: string): number {
    return this.#clock.sinceMs(meta.agent_id, mark);
  }
}

/** Changes with every sign of life. */
function markOf({ folder }: Worker, { state }: TaskQueue): string {
  const seen = statSync(folder.seen, { throwIfNoEntry: false, bigint: true });
  return `${state.generation} ${state.phase} ${state.eventSeq} ${seen?.mtimeNs}`;
}
