import { appendFileSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { EngineRequest } from '../../plugin.ts';
import { Places } from './places.ts';
import {
  type ProgramDependencies,
  programOf,
  silenceLimitOf
} from './program.ts';
import type { RunRecord, RunStatus } from './run.ts';
import { addEvent, claimNeverStarts, requestStop } from './run-files.ts';
import type { RunStore } from './run-store.ts';

interface Waiting {
  record: RunRecord;
  request: EngineRequest;
}

export interface StarterDependencies extends ProgramDependencies {
  store: RunStore;
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
  readonly #places: Places[];
  #retry: NodeJS.Timeout | undefined;
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
      const place = places.take(next.record.agent_id, this.#ours(places.kind));
      if (place === 'contended') this.#pumpSoon();
      if (place !== 'taken') return;
      this.drop(next.record.agent_id);
      this.#start(next);
    }
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

  #start({ record, request }: Waiting): void {
    const { registry, processes, store, onEnded } = this.#with;
    const id = record.agent_id;
    const directory = store.directoryOf(id);
    const done = () => {
      this.#started.delete(id);
      onEnded(id);
    };
    this.#started.set(id, record.kind);
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
      this.#notLaunched(directory, error);
      queueMicrotask(done);
    }
  }

  /**
   * The system refused the process: told like any engine that can't start.
   * Never throws: on a full disk the run is found lost, and its place is free.
   */
  #notLaunched(directory: string, error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    try {
      if (!claimNeverStarts(directory)) return;
      appendFileSync(join(directory, 'stderr'), `troupe: ${message}\n`);
      writeFileSync(join(directory, 'exit'), '126\n');
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
    requestStop(
      store.directoryOf(id),
      'disconnect',
      'its server ended before it could start'
    );
  return dropped;
}
