import type { Witness } from '../changes/witness.ts';
import { messageOf } from '../errors.ts';
import { withChat } from './create-chat.ts';
import {
  type LaunchDependencies,
  launchRun,
  notLaunched
} from './launch-run.ts';
import { Places } from './places.ts';
import { notPrepared, type RunRecord, type RunStatus } from './run.ts';
import {
  claimNeverStarts,
  claimOf,
  noteReady,
  requestStop
} from './run-files.ts';
import { RunQueue, type Waiting } from './run-queue.ts';
import type { RunStore } from './run-store.ts';

const droppedWithUs = {
  why: 'disconnect' as const,
  reason: 'its server ended before it could start'
};

/** Longer than a contended place is waited for: others come first so long. */
const turnMs = 150;

export interface StarterDependencies extends LaunchDependencies {
  store: RunStore;
  witness: Witness;
  /** CLI agents at work at once, in the whole workspace. */
  maxConcurrent: number;
  /** The same for API agents. */
  maxConcurrentApi: number;
  onProblem: (problem: unknown) => void;
  /** Called when a run that we started has ended. */
  onEnded: (agentId: string) => void;
}

/**
 * This server's queue, first in first out. Runs start while fewer of their
 * kind than allowed are at work in the workspace, whichever server has them.
 */
export class RunStarter {
  readonly #with: StarterDependencies;
  readonly #queue: RunQueue;
  readonly #started = new Map<string, RunRecord['kind']>();
  readonly #preparing = new Set<Promise<void>>();
  readonly #places: Places[];
  #retry: NodeJS.Timeout | undefined;
  #retryAt = 0;
  #lastEnd = Number.NEGATIVE_INFINITY;
  #closed = false;
  /** Told once, however often it is met. */
  #problem = '';

  constructor(dependencies: StarterDependencies) {
    this.#with = dependencies;
    this.#queue = new RunQueue(dependencies.store);
    const { maxConcurrent, maxConcurrentApi } = dependencies;
    this.#places = [
      new Places('cli', maxConcurrent, dependencies),
      new Places('api', maxConcurrentApi, dependencies)
    ];
  }

  /** Queues a run, starts it when there is room, and says which it was. */
  add(waiting: Waiting): RunStatus {
    this.#queue.add(waiting);
    this.pump();
    return this.#queue.has(waiting.record.agent_id) ? 'queued' : 'running';
  }

  /** Starts what there is room for. */
  pump(): void {
    for (const places of this.#places) this.#fill(places);
  }

  #fill(places: Places): void {
    while (!this.#closed) {
      const next = this.#queue.next(places.kind);
      if (typeof next === 'number') this.#pumpIn(next);
      if (!next || typeof next === 'number') return;
      const place = this.#placeFor(next, places);
      // At a random moment, or two servers would meet again and again.
      if (place === 'contended') this.#pumpIn(40 + Math.random() * 80);
      if (place !== 'taken') return;
      this.drop(next.record.agent_id);
      this.#start(next);
    }
  }

  /**
   * Never throws: what is queued stays so while the disk takes nothing. One
   * whose folder is gone holds up nobody.
   */
  #placeFor(
    { record, after }: Waiting,
    places: Places
  ): 'taken' | 'full' | 'contended' {
    const directory = this.#directoryOf(record);
    try {
      const place = this.#givesWay(places)
        ? 'contended'
        : places.take(record.agent_id, this.#ours(places.kind));
      if (place !== 'taken' && after.length > 0) noteReady(directory);
      return place;
    } catch (error) {
      const { store, onProblem } = this.#with;
      if (!store.has(record.agent_id)) this.drop(record.agent_id);
      const problem = messageOf(error);
      if (problem !== this.#problem) onProblem(error);
      this.#problem = problem;
      return 'contended';
    }
  }

  /**
   * We know at once that a place of ours is free, others find out when they
   * look again: so that they are not left with nothing, they get the time to.
   */
  #givesWay(places: Places): boolean {
    if (performance.now() - this.#lastEnd > turnMs) return false;
    const ours = [...this.#started.keys(), ...this.#queue.ids()];
    return places.areWanted(new Set(ours));
  }

  #ours(kind: RunRecord['kind']): Set<string> {
    const ours = [...this.#started].filter(([, its]) => its === kind);
    return new Set(ours.map(([id]) => id));
  }

  /** The soonest stands: there are places of two kinds. */
  #pumpIn(milliseconds: number): void {
    const at = performance.now() + milliseconds;
    if (this.#retry && this.#retryAt <= at) return;
    clearTimeout(this.#retry);
    this.#retryAt = at;
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      this.pump();
    }, milliseconds);
    this.#retry.unref();
  }

  /** Ids of the runs this process started and has not seen end. */
  ownRunning(): string[] {
    return [...this.#started.keys()];
  }

  /** Settles when what has its place has started, or is cleared away. */
  async prepared(): Promise<void> {
    await Promise.all(this.#preparing);
  }

  /** Drops what has not started: it never will. Returns the ids. */
  close(): string[] {
    this.#closed = true;
    const dropped = this.#queue.dropAll();
    return dropped.flatMap(({ record }) =>
      claimNeverStarts(this.#with.store.directoryOf(record.agent_id))
        ? [record.agent_id]
        : []
    );
  }

  /** Takes a run out of the queue. */
  drop(agentId: string): void {
    this.#queue.drop(agentId);
  }

  #start(waiting: Waiting): void {
    const { record } = waiting;
    this.#started.set(record.agent_id, record.kind);
    const ready = this.#prepare(waiting);
    if (!ready) {
      this.#launch(waiting);
      return;
    }
    const preparing = ready.then(
      (prepared) => {
        if (this.#isCanceled(record)) return this.#over(record);
        this.#launch(prepared);
        return undefined;
      },
      (error: unknown) => {
        const directory = this.#directoryOf(record);
        if (this.#closed) requestStop(directory, droppedWithUs);
        notLaunched(directory, error, notPrepared);
        return this.#over(record);
      }
    );
    this.#preparing.add(preparing);
    void preparing.then(() => this.#preparing.delete(preparing));
  }

  /** Undefined when there is nothing to be done before the start. */
  #prepare(waiting: Waiting): Promise<Waiting> | undefined {
    const ready = this.#with.witness.prepare(waiting.record);
    if (!waiting.createChat) return ready?.then(() => waiting);
    const { record } = waiting;
    const isWanted = () => !this.#closed && !this.#isCanceled(record);
    return (ready ?? Promise.resolve()).then(() =>
      withChat(waiting, this.#directoryOf(record), isWanted, this.#with)
    );
  }

  #launch(waiting: Waiting): void {
    const { record } = waiting;
    const done = () => void this.#over(record);
    void launchRun(waiting, this.#directoryOf(record), this.#with).then(done);
  }

  /** It has ended, or will never start: then nothing of it is left behind. */
  #over(record: RunRecord): Promise<void> | undefined {
    const { witness, onEnded } = this.#with;
    this.#started.delete(record.agent_id);
    this.#lastEnd = performance.now();
    onEnded(record.agent_id);
    return this.#isCanceled(record) ? witness.discard(record) : undefined;
  }

  #isCanceled(record: RunRecord): boolean {
    const claim = claimOf(this.#directoryOf(record), record.owner.place);
    return claim?.never === true;
  }

  #directoryOf(record: RunRecord): string {
    return this.#with.store.directoryOf(record.agent_id);
  }
}

/** Ends every run this process has in its queue because its client left. */
export function disconnectQueued(
  starter: RunStarter,
  store: RunStore
): string[] {
  const dropped = starter.close();
  for (const id of dropped) requestStop(store.directoryOf(id), droppedWithUs);
  return dropped;
}
