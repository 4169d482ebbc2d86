import {
  type Ids,
  type Place,
  Places,
  type PlacesDependencies
} from './places.ts';
import type { RunRecord } from './run.ts';
import { setStarting } from './run-files.ts';

export interface OwnPlacesDependencies extends PlacesDependencies {
  /** CLI agents at work at once, in the whole workspace. */
  maxConcurrent: number;
  /** The same for API agents. */
  maxConcurrentApi: number;
}

/** Longer than a contended place is waited for: others come first so long. */
const turnMs = 150;

/** The places that this server has for its agents, of all in the workspace. */
export class OwnPlaces {
  readonly #with: OwnPlacesDependencies;
  readonly #held = new Map<string, RunRecord>();
  readonly #places: Record<RunRecord['kind'], Places>;
  #lastEnd = Number.NEGATIVE_INFINITY;

  constructor(dependencies: OwnPlacesDependencies) {
    this.#with = dependencies;
    const { maxConcurrent, maxConcurrentApi } = dependencies;
    this.#places = {
      cli: new Places('cli', maxConcurrent, dependencies),
      api: new Places('api', maxConcurrentApi, dependencies)
    };
  }

  /**
   * Takes one for an agent that has waited in our queue. We know at once that
   * a place of ours is free, others find out when they look again: so that
   * they are not left with nothing, they get the time to.
   */
  take(record: RunRecord, queued: Ids): Place {
    const isRecent = performance.now() - this.#lastEnd <= turnMs;
    const ours = { has: (id: string) => this.has(id) || queued.has(id) };
    if (isRecent && this.#of(record).areWanted(ours)) return 'contended';
    return this.takeNow(record, queued);
  }

  /** Takes one before all who wait. */
  takeNow(record: RunRecord, queued?: Ids): Place {
    const ours = this.#heldOf(record.kind);
    const place = this.#of(record).take(record, ours, queued);
    if (place === 'taken') this.#held.set(record.agent_id, record);
    return place;
  }

  has(agentId: string): boolean {
    return this.#held.has(agentId);
  }

  /** Whether programs of these engines could all begin now. */
  areFree(engines: string[]): boolean {
    return this.#places.cli.areFree(engines, this.#heldOf('cli'));
  }

  /** Of an agent that has ended, or never began. */
  leave({ agent_id: id }: RunRecord): void {
    this.#held.delete(id);
    this.#lastEnd = performance.now();
  }

  /** Gives one back that was taken a moment ago. */
  giveBack({ agent_id: id }: RunRecord): void {
    if (!this.#held.delete(id)) return;
    setStarting(this.#with.store.directoryOf(id), false);
  }

  /** Of the agents that have them. */
  ids(): string[] {
    return [...this.#held.keys()];
  }

  #of({ kind }: RunRecord): Places {
    return this.#places[kind];
  }

  #heldOf(kind: RunRecord['kind']): RunRecord[] {
    return [...this.#held.values()].filter((record) => record.kind === kind);
  }
}
