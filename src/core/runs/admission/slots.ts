import type { Processes } from '../ports.ts';
import type { RunRecord } from '../run.ts';
import { wasClaimed } from '../run-files.ts';
import { liveStateOf } from '../run-state.ts';
import type { RunStore } from '../run-store.ts';
import {
  isReady,
  setStarting,
  startingSince,
  undoStarting
} from '../start-marks.ts';

/** An announcement expires after this time; a claim is written sooner. */
const announcedMs = 2000;

/** For this long after an end, a server lets other servers take the slot. */
const yieldMs = 150;

/** So many agents start before their spawns are answered. */
const few = 8;

interface SlotsDependencies {
  store: RunStore;
  processes: Processes;
  /** The limit of running agents of one engine; undefined for none. */
  capOf: (engine: string) => number | undefined;
}

export interface OwnSlotsDependencies extends SlotsDependencies {
  /** CLI agents that may run at once in the whole workspace. */
  maxConcurrent: number;
  /** The same for API agents. */
  maxConcurrentApi: number;
}

/** The part of a record that decides whether a slot is free. */
type SlotUser = Pick<RunRecord, 'agent_id' | 'engine'>;

type Ids = Pick<ReadonlySet<string>, 'has'>;

/**
 * The result of a request for a slot. `full`: this server's own agents use all
 * slots. `contended`: no slot is free because of another server, whose agents
 * use slots or which requests the last one at the same moment; this server has
 * to try again. With `engine`, only the slots of that engine are used up.
 */
export type SlotResult =
  | 'taken'
  | 'full'
  | 'contended'
  | 'engine full'
  | 'engine contended';

/** The slots of this server's agents, out of all slots of the workspace. */
export class OwnSlots {
  readonly #with: OwnSlotsDependencies;
  readonly #held = new Map<string, RunRecord>();
  /** Ids of the runs that this server is about to queue. */
  readonly coming = new Set<string>();
  readonly #slots: Record<RunRecord['kind'], Slots>;
  #lastEnd = Number.NEGATIVE_INFINITY;

  constructor(dependencies: OwnSlotsDependencies) {
    this.#with = dependencies;
    // A limit may change between two calls.
    this.#slots = {
      cli: new Slots('cli', () => dependencies.maxConcurrent, dependencies),
      api: new Slots('api', () => dependencies.maxConcurrentApi, dependencies)
    };
  }

  /**
   * Takes a slot for a queued agent of this server. This server sees the end of
   * its own agents at once, and other servers poll. Therefore other servers get
   * some time to take a slot that one of these agents has released.
   */
  take(record: RunRecord, queued: Ids): SlotResult {
    const { kind } = record;
    const full = this.#slots[kind].isFull(record, this.#heldOf(kind));
    if (full) return full;
    const isRecent = performance.now() - this.#lastEnd <= yieldMs;
    const idle = this.#idle(queued);
    const ours = { has: (id: string) => this.has(id) || idle.has(id) };
    const open = this.#with.store.markedIds();
    if (isRecent && this.#slots[kind].areRequested(ours, open))
      return 'contended';
    return this.takeNow(record, queued, open);
  }

  /**
   * Takes a slot without leaving it to other servers first.
   * @param open ids of the runs that have a mark now
   */
  takeNow(record: RunRecord, queued?: Ids, open?: string[]): SlotResult {
    const { kind } = record;
    const ours = this.#heldOf(kind);
    const idle = this.#idle(queued);
    const result = this.#slots[kind].take(record, ours, idle, open);
    if (result === 'taken') this.#held.set(record.agent_id, record);
    return result;
  }

  /** This server's agents that have no slot. */
  #idle(queued: Ids | undefined): Ids {
    const { coming } = this;
    return { has: (id) => coming.has(id) || queued?.has(id) === true };
  }

  has(agentId: string): boolean {
    return this.#held.has(agentId);
  }

  /** Whether CLI agents of these engines could all start now. */
  areFree(engines: string[]): boolean {
    return this.#slots.cli.areFree(engines, this.#heldOf('cli'));
  }

  /** Releases the slot of an agent that has ended or never started. */
  release({ agent_id: id }: RunRecord): void {
    this.#held.delete(id);
    this.#lastEnd = performance.now();
  }

  /** Releases a slot that was just taken, and withdraws its announcement. */
  withdraw({ agent_id: id }: RunRecord): void {
    if (!this.#held.delete(id)) return;
    setStarting(this.#with.store.directoryOf(id), false);
  }

  /** Releases the slot of an agent that did not start and is queued again. */
  giveBack({ agent_id: id }: RunRecord): void {
    this.#held.delete(id);
    undoStarting(this.#with.store.directoryOf(id));
  }

  /** @param queued the agents of this server that wait for a slot */
  areMany(queued: number): boolean {
    return this.#held.size + queued > few;
  }

  /** Ids of the agents that have a slot. */
  ids(): string[] {
    return [...this.#held.keys()];
  }

  records(): RunRecord[] {
    return [...this.#held.values()];
  }

  #heldOf(kind: RunRecord['kind']): RunRecord[] {
    return this.records().filter((record) => record.kind === kind);
  }
}

/**
 * The slots for agents of one kind, shared by all servers of a workspace
 * without a lock; an engine may have its own limit. A server first announces an
 * agent with the file `starting` in the agent's folder and counts afterwards.
 * If two servers take the last slot at once, the later one sees both
 * announcements; a server that counts too many withdraws its own. A server that
 * is paused or killed in between blocks a slot for two seconds.
 */
export class Slots {
  readonly #kind: RunRecord['kind'];
  readonly #limit: () => number;
  readonly #with: SlotsDependencies;
  /** Ids of runs that still have a mark but are known to have ended. */
  #ended = new Set<string>();

  constructor(
    kind: RunRecord['kind'],
    limit: () => number,
    dependencies: SlotsDependencies
  ) {
    this.#kind = kind;
    this.#limit = limit;
    this.#with = dependencies;
  }

  /**
   * Takes a slot for an agent.
   * @param ours agents of this server that have a slot
   * @param idle queued agents of this server, which need not be checked
   * @param open ids of the runs that have a mark now
   */
  take(
    requested: SlotUser,
    ours: SlotUser[],
    idle: Ids = new Set(),
    open?: string[]
  ): SlotResult {
    const { agent_id: id, engine } = requested;
    const full = this.isFull(requested, ours);
    if (full) return full;
    const all = withRequested(requested, ours);
    const contention = (marked?: string[]) => {
      const everywhere = [...all, ...this.#others(all, idle, marked)];
      const exceeded = this.#exceeded(everywhere, [engine]);
      return exceeded === 'engine'
        ? 'engine contended'
        : exceeded && 'contended';
    };
    const before = contention(open);
    if (before) return before;
    const directory = this.#with.store.directoryOf(id);
    setStarting(directory, true);
    const after = contention();
    if (after) setStarting(directory, false);
    return after ?? 'taken';
  }

  /** Whether this server's own agents use all slots. */
  isFull(
    requested: SlotUser,
    ours: SlotUser[]
  ): 'full' | 'engine full' | undefined {
    const all = withRequested(requested, ours);
    const own = this.#exceeded(all, [requested.engine]);
    return own === 'engine' ? 'engine full' : own && 'full';
  }

  /** Whether agents of these engines could all start now, in addition to `ours`. */
  areFree(engines: string[], ours: SlotUser[]): boolean {
    const requested = engines.map((engine) => ({ agent_id: '', engine }));
    const all = [...ours, ...this.#others(ours), ...requested];
    return this.#exceeded(all, engines) === undefined;
  }

  /** Whether an agent of another server waits only for a slot of this kind. */
  areRequested(ours: Ids, open = this.#with.store.markedIds()): boolean {
    const { store, processes, capOf } = this.#with;
    return open.some((id) => {
      const directory = store.directoryOf(id);
      if (ours.has(id) || wasClaimed(directory)) return false;
      const record = store.recordOf(id);
      return (
        record?.kind === this.#kind &&
        (!record.comes_after || isReady(directory)) &&
        liveStateOf(record, directory, processes) === 'queued' &&
        (capOf(record.engine) === undefined ||
          this.#exceeded([...this.#others([]), record], [record.engine]) !==
            'engine')
      );
    });
  }

  /** The limit that these agents exceed, if any. */
  #exceeded(all: SlotUser[], engines: string[]): 'kind' | 'engine' | undefined {
    if (all.length > this.#limit()) return 'kind';
    const isTooMany = (engine: string) =>
      all.filter((one) => one.engine === engine).length >
      (this.#with.capOf(engine) ?? Number.POSITIVE_INFINITY);
    return engines.some(isTooMany) ? 'engine' : undefined;
  }

  /** Running and announced agents, except the named and the idle ones. */
  #others(
    named: SlotUser[],
    idle: Ids = new Set(),
    open = this.#with.store.markedIds()
  ): RunRecord[] {
    const known = new Set(named.map(({ agent_id }) => agent_id));
    this.#ended = new Set(open.filter((id) => this.#ended.has(id)));
    return open.flatMap((id) =>
      known.has(id) || idle.has(id) || this.#ended.has(id)
        ? []
        : (this.#runningOf(id) ?? [])
    );
  }

  #runningOf(id: string): RunRecord | undefined {
    const { store, processes } = this.#with;
    const directory = store.directoryOf(id);
    if (!wasClaimed(directory) && !isAnnounced(directory)) return undefined;
    const record = store.recordOf(id);
    if (record?.kind !== this.#kind) return undefined;
    const state = store.hasOutcome(id)
      ? 'ended'
      : liveStateOf(record, directory, processes);
    if (state === 'ended') this.#ended.add(id);
    return state === 'running' || state === 'preparing' ? record : undefined;
  }
}

function withRequested(requested: SlotUser, ours: SlotUser[]): SlotUser[] {
  const others = ours.filter((one) => one.agent_id !== requested.agent_id);
  return [...others, requested];
}

/** An older announcement has expired: its server was paused or killed. */
function isAnnounced(directory: string): boolean {
  const since = startingSince(directory);
  return (
    since !== undefined && Math.abs(Date.now() - since.getTime()) < announcedMs
  );
}
