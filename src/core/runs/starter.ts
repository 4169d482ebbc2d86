import type { Witness } from '../changes/witness.ts';
import { messageOf } from '../errors.ts';
import { withChat } from './create-chat.ts';
import {
  type LaunchDependencies,
  launchRun,
  notLaunched
} from './launch-run.ts';
import { OwnPlaces, type OwnPlacesDependencies } from './own-places.ts';
import type { Place } from './places.ts';
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

/** An agent of an agent waits so long for a place once its turn has come. */
const patienceMs = 10_000;

const noPlace = `its turn came, and no place was free for ${patienceMs / 1000} s: an agent's own agents do not wait behind those at work, of which it is one`;

export interface StarterDependencies
  extends LaunchDependencies,
    OwnPlacesDependencies {
  store: RunStore;
  witness: Witness;
  onProblem: (problem: unknown) => void;
  /** Called when a run that we started has ended. */
  onEnded: (agentId: string) => void;
}

/**
 * This server's queue, first in first out. Runs start while fewer of their
 * kind, and of their engine, than allowed are at work in the workspace,
 * whichever server has them.
 */
export class RunStarter {
  readonly #with: StarterDependencies;
  readonly #queue: RunQueue;
  /** Of the runs this process started and has not seen end. */
  readonly places: OwnPlaces;
  readonly #preparing = new Set<Promise<void>>();
  #retry: NodeJS.Timeout | undefined;
  #retryAt = 0;
  #closed = false;
  /** Told once, however often it is met. */
  #problem = '';

  constructor(dependencies: StarterDependencies) {
    this.#with = dependencies;
    this.#queue = new RunQueue(dependencies.store);
    this.places = new OwnPlaces(dependencies);
  }

  /** Queues a run, starts it when there is room, and says which it was. */
  add(waiting: Waiting): RunStatus {
    const { agent_id: id } = waiting.record;
    // Nothing starts any more: then it is never to.
    if (this.#closed) this.places.giveBack(waiting.record);
    if (this.places.has(id)) this.#start(waiting);
    else this.#queue.add(waiting);
    this.pump();
    return this.#queue.has(id) ? 'queued' : 'running';
  }

  /** Starts what there is room for. */
  pump(): void {
    if (this.#closed) return;
    this.#fill('cli');
    this.#fill('api');
    for (const { record } of this.#queue.overdue(patienceMs)) {
      this.drop(record.agent_id);
      notLaunched(this.#directoryOf(record), new Error(noPlace), notPrepared);
      this.#over(record)?.catch(this.#with.onProblem);
    }
  }

  #fill(kind: RunRecord['kind']): void {
    /** Engines whose part of the places is taken: others pass theirs. */
    const held = new Set<string>();
    while (!this.#closed) {
      const next = this.#queue.next(kind, held);
      if (typeof next === 'number') this.#pumpIn(next);
      if (!next || typeof next === 'number') return;
      const place = this.#placeFor(next);
      // At a random moment, or two servers would meet again and again.
      if (place.endsWith('contended')) this.#pumpIn(40 + Math.random() * 80);
      if (place.startsWith('engine')) held.add(next.record.engine);
      else if (place === 'taken') {
        this.drop(next.record.agent_id);
        this.#start(next);
      } else return;
    }
  }

  /**
   * Never throws: what is queued stays so while the disk takes nothing. One
   * whose folder is gone holds up nobody.
   */
  #placeFor({ record, after }: Waiting): Place {
    try {
      const place = this.places.take(record, this.#queue);
      if (place !== 'taken' && after.length > 0)
        noteReady(this.#directoryOf(record));
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
    return this.places.ids();
  }

  /** True until we have seen it end. */
  hasStarted(agentId: string): boolean {
    return this.places.has(agentId);
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
    const told = preparing.catch(this.#with.onProblem);
    this.#preparing.add(told);
    void told.then(() => this.#preparing.delete(told));
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
    launchRun(waiting, this.#directoryOf(record), this.#with)
      .then(() => this.#over(record))
      .catch(this.#with.onProblem);
  }

  /** It has ended, or will never start: then nothing of it is left behind. */
  #over(record: RunRecord): Promise<void> | undefined {
    const { witness, onEnded } = this.#with;
    this.places.leave(record);
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
