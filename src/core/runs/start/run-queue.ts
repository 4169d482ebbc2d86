import type { RunRecord } from '../run.ts';
import type { RunStore } from '../run-store.ts';
import { touchAlive } from '../sign-of-life.ts';
import type { Earlier, Waiting } from '../spawn-request.ts';

/** An agent that a queued run has to wait for. */
interface Awaited extends Earlier {
  /** When the wait for it began. */
  since: number;
  /** When this agent and all agents before it were found to have ended. */
  ended?: number;
  /** The agents that this agent itself waits for. */
  before: Awaited[];
}

/** Interval of the heartbeat of queued runs, for servers on other machines. */
const heartbeatMs = 15_000;

/** An announced agent without a record after this time never starts. */
const announcedMs = 10_000;

/**
 * The runs that this server has queued, first in, first out. A run overtakes
 * runs that still wait for other agents to end and runs whose engine is at its
 * limit.
 */
export class RunQueue {
  /** By id, in the order of their spawns. */
  readonly #waiting = new Map<string, Waiting>();
  /** By agent id: the time since which a nested run waits only for a slot. */
  readonly #ready = new Map<string, number>();
  /** What each run waits for. Entries stay until the queue is empty. */
  readonly #awaited = new Map<string, Awaited[]>();
  readonly #store: RunStore;
  #heartbeatAt = Number.NEGATIVE_INFINITY;

  constructor(store: RunStore) {
    this.#store = store;
  }

  get size(): number {
    return this.#waiting.size;
  }

  add(waiting: Waiting): void {
    const since = performance.now();
    const awaited = waiting.after.map((earlier) => ({
      ...earlier,
      since,
      before: this.#awaited.get(earlier.agentId) ?? []
    }));
    if (this.#waiting.size === 0) this.#awaited.clear();
    this.#awaited.set(waiting.record.agent_id, awaited);
    this.#waiting.set(waiting.record.agent_id, waiting);
  }

  /** Queues a run again that could not start, in its former place. */
  putBack(waiting: Waiting): void {
    const numberOf = ({ number = 0 }: Waiting) => number;
    const all = [...this.#waiting.values(), waiting];
    this.#waiting.clear();
    for (const one of all.sort((a, b) => numberOf(a) - numberOf(b)))
      this.#waiting.set(one.record.agent_id, one);
  }

  /** Removes a run; undefined when it is not queued. */
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

  records(): RunRecord[] {
    return [...this.#waiting.values()].map(({ record }) => record);
  }

  sendHeartbeats(): void {
    // Node loads `performance` at its first use, which an empty queue avoids.
    if (this.#waiting.size === 0) return;
    if (performance.now() - this.#heartbeatAt < heartbeatMs) return;
    this.#heartbeatAt = performance.now();
    for (const id of this.#waiting.keys())
      touchAlive(this.#store.directoryOf(id));
  }

  /**
   * The first run of a kind that may start now and whose engine is not in
   * `fullEngines`. Otherwise the milliseconds until a run may start without
   * another event, or undefined if no run will.
   */
  next(
    kind: RunRecord['kind'],
    fullEngines: ReadonlySet<string> = new Set()
  ): Waiting | number | undefined {
    let soonest: number | undefined;
    for (const waiting of this.#waiting.values()) {
      const { record } = waiting;
      if (record.kind !== kind || fullEngines.has(record.engine)) continue;
      const rest = this.#restOf(this.#awaited.get(record.agent_id) ?? []);
      if (rest === 0) return waiting;
      soonest = Math.min(soonest ?? rest, rest);
    }
    return soonest === Number.POSITIVE_INFINITY ? undefined : soonest;
  }

  /** Runs that agents spawned and that have waited for a slot for this long. */
  overdue(patienceMs: number, at?: number): Waiting[] {
    // Node loads `performance` at its first use, which an empty queue avoids.
    if (this.#waiting.size === 0) return [];
    const now = at ?? performance.now();
    const isOverdue = ({ record: { agent_id: id } }: Waiting) => {
      if (this.#restOf(this.#awaited.get(id) ?? []) > 0) return false;
      const since = this.#ready.get(id) ?? now;
      this.#ready.set(id, since);
      return now - since >= patienceMs;
    };
    const overdue: Waiting[] = [];
    for (const waiting of this.#waiting.values())
      if (waiting.isAgents && isOverdue(waiting)) overdue.push(waiting);
    return overdue;
  }

  /** Milliseconds until all are over. Stops early by checking backwards. */
  #restOf(awaited: Awaited[]): number {
    let longest = 0;
    for (const one of awaited.toReversed()) {
      longest = Math.max(longest, this.#restMs(one));
      if (longest === Number.POSITIVE_INFINITY) break;
    }
    return longest;
  }

  /** Milliseconds until later runs may start; infinite until this one ends. */
  #restMs(awaited: Awaited, now = performance.now()): number {
    const { agentId, delayMs, since } = awaited;
    if (awaited.ended === undefined) {
      const exists = this.#store.has(agentId);
      if (!exists && now - since < announcedMs)
        return announcedMs - (now - since);
      if (exists && !this.#store.hasOutcome(agentId))
        return Number.POSITIVE_INFINITY;
      // A run that ended in the queue did not wait for the runs before it.
      const rest = this.#hasStarted(agentId) ? 0 : this.#restOf(awaited.before);
      if (rest > 0) return rest;
      awaited.ended = now;
      awaited.before = [];
    }
    return Math.max(0, delayMs - (now - awaited.ended));
  }

  /** Whether an ended run had started; false if its outcome is unreadable. */
  #hasStarted(agentId: string): boolean {
    try {
      return Boolean(this.#store.outcomeOf(agentId)?.started_at);
    } catch {
      return false;
    }
  }
}
