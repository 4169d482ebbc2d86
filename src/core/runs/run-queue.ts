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
  /** An agent waits for it, which is at work itself. */
  isAgents?: boolean | undefined;
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
  /** By id, in their order. */
  readonly #waiting = new Map<string, Waiting>();
  /** Since when those of agents have waited for nothing but a place. */
  readonly #ready = new Map<string, number>();
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
    if (this.#waiting.size === 0) this.#lines.clear();
    this.#lines.set(waiting.record.agent_id, awaited);
    this.#waiting.set(waiting.record.agent_id, waiting);
  }

  /** Takes a run out; undefined when it is not in here. */
  drop(agentId: string): Waiting | undefined {
    const waiting = this.#waiting.get(agentId);
    this.#ready.delete(agentId);
    this.#waiting.delete(agentId);
    return waiting;
  }

  dropAll(): Waiting[] {
    const all = [...this.#waiting.values()];
    this.#waiting.clear();
    return all;
  }

  has(agentId: string): boolean {
    return this.#waiting.has(agentId);
  }

  /**
   * The first of a kind whose time has come, and whose engine is not one of
   * `held`; else the milliseconds until one may start by the passing of time
   * alone, undefined when none will.
   */
  next(
    kind: RunRecord['kind'],
    held: ReadonlySet<string> = new Set()
  ): Waiting | number | undefined {
    let soonest: number | undefined;
    for (const waiting of this.#waiting.values()) {
      const { record } = waiting;
      if (record.kind !== kind || held.has(record.engine)) continue;
      const rest = this.#restOf(this.#lines.get(record.agent_id) ?? []);
      if (rest === 0) return waiting;
      soonest = Math.min(soonest ?? rest, rest);
    }
    return soonest === Number.POSITIVE_INFINITY ? undefined : soonest;
  }

  /** Those of agents that have waited for nothing but a place for so long. */
  overdue(patienceMs: number, at?: number): Waiting[] {
    // Node loads this clock at its first use: not for an empty queue.
    if (this.#waiting.size === 0) return [];
    const now = at ?? performance.now();
    const isOverdue = ({ record: { agent_id: id } }: Waiting) => {
      if (this.#restOf(this.#lines.get(id) ?? []) > 0) return false;
      const since = this.#ready.get(id) ?? now;
      this.#ready.set(id, since);
      return now - since >= patienceMs;
    };
    const overdue: Waiting[] = [];
    for (const waiting of this.#waiting.values())
      if (waiting.isAgents && isOverdue(waiting)) overdue.push(waiting);
    return overdue;
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
      if (isThere && !this.#store.hasOutcome(agentId))
        return Number.POSITIVE_INFINITY;
      // Who ended in line had not waited for those before it.
      const rest = this.#hasBegun(agentId) ? 0 : this.#restOf(awaited.before);
      if (rest > 0) return rest;
      awaited.ended = now;
      awaited.before = [];
    }
    return Math.max(0, delayMs - (now - awaited.ended));
  }

  /** False where its end was spoilt since: that is an end all the same. */
  #hasBegun(agentId: string): boolean {
    try {
      return Boolean(this.#store.outcomeOf(agentId)?.started_at);
    } catch {
      return false;
    }
  }
}
