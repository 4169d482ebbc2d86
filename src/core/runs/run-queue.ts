import type { Engine, EngineRequest } from '../../plugin.ts';
import type { RunRecord } from './run.ts';
import type { RunStore } from './run-store.ts';
import type { Command, Earlier } from './spawn-request.ts';

/** A run that has not started. */
export interface Waiting {
  record: RunRecord;
  engine: Engine;
  request: EngineRequest;
  /** Those that have to end before it starts. */
  after: Earlier[];
  /** Makes the session that it starts with. */
  createChat?: Command | undefined;
}

/** An earlier agent, as one behind it sees it. */
interface Awaited extends Earlier {
  /** When it was first asked for. */
  since: number;
  /** When it and all before it were seen to be over. */
  ended?: number;
  /** Those it comes after itself. */
  before: Awaited[];
}

/** An agent that was announced and is not there after this time never comes. */
const announcedMs = 10_000;

/**
 * This server's queue: first in, first out, among those that wait for a place
 * only. One that comes after others lets those behind it pass meanwhile.
 */
export class RunQueue {
  readonly #waiting: Waiting[] = [];
  /** Whom the runs come after that were in here since it was empty. */
  readonly #lines = new Map<string, Awaited[]>();
  readonly #store: RunStore;

  constructor(store: RunStore) {
    this.#store = store;
  }

  add(waiting: Waiting): void {
    const since = performance.now();
    const awaited = waiting.after.map((earlier) => ({
      ...earlier,
      since,
      before: this.#lines.get(earlier.agentId) ?? []
    }));
    if (this.#waiting.length === 0) this.#lines.clear();
    this.#lines.set(waiting.record.agent_id, awaited);
    this.#waiting.push(waiting);
  }

  /** Takes a run out; undefined when it is not in here. */
  drop(agentId: string): Waiting | undefined {
    const index = this.#waiting.findIndex(
      ({ record }) => record.agent_id === agentId
    );
    return index < 0 ? undefined : this.#waiting.splice(index, 1)[0];
  }

  dropAll(): Waiting[] {
    return this.#waiting.splice(0);
  }

  has(agentId: string): boolean {
    return this.ids().includes(agentId);
  }

  ids(): string[] {
    return this.#waiting.map(({ record }) => record.agent_id);
  }

  /**
   * The first of a kind whose time has come; else the milliseconds until one
   * may start by the passing of time alone, undefined when none will.
   */
  next(kind: RunRecord['kind']): Waiting | number | undefined {
    let soonest: number | undefined;
    for (const waiting of this.#waiting) {
      const { agent_id: id, kind: its } = waiting.record;
      if (its !== kind) continue;
      const rest = this.#restOf(this.#lines.get(id) ?? []);
      if (rest === 0) return waiting;
      soonest = Math.min(soonest ?? rest, rest);
    }
    return soonest === Number.POSITIVE_INFINITY ? undefined : soonest;
  }

  /** The oldest first: while it is not over, the others need no look. */
  #restOf(awaited: Awaited[]): number {
    let longest = 0;
    for (const one of awaited.toReversed()) {
      longest = Math.max(longest, this.#restMs(one));
      if (longest === Number.POSITIVE_INFINITY) break;
    }
    return longest;
  }

  /** Until those behind it may start; infinite while it is not over. */
  #restMs(awaited: Awaited, now = performance.now()): number {
    const { agentId, delayMs, since } = awaited;
    if (awaited.ended === undefined) {
      const isThere = this.#store.has(agentId);
      if (!isThere && now - since < announcedMs)
        return announcedMs - (now - since);
      const outcome = isThere ? this.#store.outcomeOf(agentId) : undefined;
      if (isThere && !outcome) return Number.POSITIVE_INFINITY;
      // Who ended in line had not waited for those before it.
      const rest = outcome?.started_at ? 0 : this.#restOf(awaited.before);
      if (rest > 0) return rest;
      awaited.ended = now;
      awaited.before = [];
    }
    return Math.max(0, delayMs - (now - awaited.ended));
  }
}
