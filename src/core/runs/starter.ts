import { appendFileSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { EngineRequest } from '../../plugin.ts';
import type { Witness } from '../changes/witness.ts';
import { EngineFault } from '../engines/engine-fault.ts';
import { messageOf } from '../errors.ts';
import { Places } from './places.ts';
import {
  type ProgramDependencies,
  programOf,
  silenceLimitOf
} from './program.ts';
import { notPrepared, type RunRecord, type RunStatus } from './run.ts';
import {
  addEvent,
  claimNeverStarts,
  claimOf,
  requestStop
} from './run-files.ts';
import type { RunStore } from './run-store.ts';

/** Longer than `#pumpSoon` takes: so long other servers come first. */
const turnMs = 150;

interface Waiting {
  record: RunRecord;
  request: EngineRequest;
}

export interface StarterDependencies extends ProgramDependencies {
  store: RunStore;
  witness: Witness;
  /** CLI agents at work at once, in the whole workspace. */
  maxConcurrent: number;
  /** The same for API agents. */
  maxConcurrentApi: number;
  /** Called when a run that we started has ended. */
  onEnded: (agentId: string) => void;
}

/**
 * This server's queue, first in first out. Runs start while fewer of their
 * kind than allowed are at work in the workspace, whichever server has them.
 */
export class RunStarter {
  readonly #with: StarterDependencies;
  readonly #queue: Waiting[] = [];
  readonly #started = new Map<string, RunRecord['kind']>();
  readonly #preparing = new Set<Promise<void>>();
  readonly #places: Places[];
  #retry: NodeJS.Timeout | undefined;
  #lastEnd = Number.NEGATIVE_INFINITY;
  #closed = false;

  constructor(dependencies: StarterDependencies) {
    this.#with = dependencies;
    const { maxConcurrent, maxConcurrentApi } = dependencies;
    this.#places = [
      new Places('cli', maxConcurrent, dependencies),
      new Places('api', maxConcurrentApi, dependencies)
    ];
  }

  /** Queues a run, starts it when there is room, and says which it was. */
  add(record: RunRecord, request: EngineRequest): RunStatus {
    this.#queue.push({ record, request });
    this.pump();
    return this.#queue.some((waiting) => waiting.record === record)
      ? 'queued'
      : 'running';
  }

  /** Starts what there is room for. */
  pump(): void {
    for (const places of this.#places) this.#fill(places);
  }

  #fill(places: Places): void {
    while (!this.#closed) {
      const next = this.#queue.find(
        ({ record }) => record.kind === places.kind
      );
      if (!next) return;
      const place = this.#givesWay(places)
        ? 'contended'
        : places.take(next.record.agent_id, this.#ours(places.kind));
      if (place === 'contended') this.#pumpSoon();
      if (place !== 'taken') return;
      this.drop(next.record.agent_id);
      this.#start(next);
    }
  }

  /**
   * We know at once that a place of ours is free, others find out when they
   * look again: so that they are not left with nothing, they get the time to.
   */
  #givesWay(places: Places): boolean {
    if (performance.now() - this.#lastEnd > turnMs) return false;
    const waiting = this.#queue.map(({ record }) => record.agent_id);
    return places.areWanted(new Set([...this.#started.keys(), ...waiting]));
  }

  #ours(kind: RunRecord['kind']): Set<string> {
    const ours = [...this.#started].filter(([, its]) => its === kind);
    return new Set(ours.map(([id]) => id));
  }

  /** At a random moment, or two servers would meet again and again. */
  #pumpSoon(): void {
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => this.pump(), 40 + Math.random() * 80);
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
    const dropped = this.#queue.splice(0);
    return dropped.flatMap(({ record }) =>
      claimNeverStarts(this.#with.store.directoryOf(record.agent_id))
        ? [record.agent_id]
        : []
    );
  }

  /** Takes a run out of the queue. */
  drop(agentId: string): void {
    const index = this.#queue.findIndex(
      ({ record }) => record.agent_id === agentId
    );
    if (index >= 0) this.#queue.splice(index, 1);
  }

  #start(waiting: Waiting): void {
    const { record } = waiting;
    this.#started.set(record.agent_id, record.kind);
    const ready = this.#with.witness.prepare(record);
    if (!ready) {
      this.#launch(waiting);
      return;
    }
    const preparing = ready.then(
      () => {
        if (this.#isCanceled(record)) return this.#over(record);
        this.#launch(waiting);
        return undefined;
      },
      (error: unknown) => {
        this.#notLaunched(this.#directoryOf(record), error, notPrepared);
        return this.#over(record);
      }
    );
    this.#preparing.add(preparing);
    void preparing.then(() => this.#preparing.delete(preparing));
  }

  #launch({ record, request }: Waiting): void {
    const { registry, processes } = this.#with;
    const id = record.agent_id;
    const directory = this.#directoryOf(record);
    const done = () => void this.#over(record);
    try {
      const engine = registry.get(record.engine);
      // Else the system would say that the program is missing.
      if (!existsSync(record.cwd)) throw new Error(`${record.cwd} is gone`);
      addEvent(directory, { type: 'started', engine: engine.name });
      const { ended } = processes.launch({
        agentId: id,
        directory,
        ...programOf(engine, request, record, directory, this.#with),
        cwd: record.cwd,
        timeoutSeconds: record.timeout_seconds,
        idleTimeoutSeconds: silenceLimitOf(record),
        outputLimitBytes: record.output_limit_bytes,
        stopWithUs: record.on_disconnect === 'stop'
      });
      ended.then(done, (error: unknown) => {
        this.#notLaunched(directory, error);
        done();
      });
    } catch (error) {
      const isFault = error instanceof EngineFault;
      this.#notLaunched(directory, error, isFault ? notPrepared : undefined);
      queueMicrotask(done);
    }
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

  /**
   * The system refused the process: told like any engine that can't start.
   * Never throws: on a full disk the run is found lost, and its place is free.
   */
  #notLaunched(directory: string, error: unknown, exitCode = 126): void {
    const message = messageOf(error);
    try {
      if (!claimNeverStarts(directory)) return;
      appendFileSync(join(directory, 'stderr'), `troupe: ${message}\n`);
      writeFileSync(join(directory, 'exit'), `${exitCode}\n`);
    } catch {
      return;
    }
  }
}

/** Ends every run this process has in its queue because its client left. */
export function disconnectQueued(
  starter: RunStarter,
  store: RunStore
): string[] {
  const dropped = starter.close();
  for (const id of dropped)
    requestStop(store.directoryOf(id), {
      why: 'disconnect',
      reason: 'its server ended before it could start'
    });
  return dropped;
}
