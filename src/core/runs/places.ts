import type { Processes } from './ports.ts';
import type { RunRecord } from './run.ts';
import {
  isReady,
  setStarting,
  startingSince,
  wasClaimed
} from './run-files.ts';
import { liveStateOf } from './run-state.ts';
import type { RunStore } from './run-store.ts';

/** From its announcement, a supervisor has this long to write its claim. */
const announcedMs = 2000;

export interface PlacesDependencies {
  store: RunStore;
  processes: Processes;
  /** How many agents of an engine may be at work at once, if that is set. */
  capOf: (engine: string) => number | undefined;
}

/** What decides where an agent may work. */
export type Placed = Pick<RunRecord, 'agent_id' | 'engine'>;

/** Ids of agents, for who asks whether one is among them. */
export type Ids = Pick<ReadonlySet<string>, 'has'>;

/**
 * `full`: this server's own agents have all of them. `contended`: other
 * servers have the rest, whose ends nobody tells us of, or want it at the same
 * moment. With `engine`, only those of its engine are taken.
 */
export type Place =
  | 'taken'
  | 'full'
  | 'contended'
  | 'engine full'
  | 'engine contended';

/**
 * The places for agents of one kind that all servers of a workspace share,
 * without a lock; an engine may have a part of them only. Who wants one first
 * announces it, in a file `starting` in the agent's folder, and counts
 * afterwards: of two that take the last place at once the later one sees both
 * announcements, and whoever counts too many takes his back. A server that was
 * paused or killed in between holds up a place for two seconds at most.
 */
export class Places {
  readonly kind: RunRecord['kind'];
  readonly #limit: number;
  readonly #with: PlacesDependencies;
  /** Open runs that were seen to be over, which they stay. */
  #over = new Set<string>();

  constructor(
    kind: RunRecord['kind'],
    limit: number,
    dependencies: PlacesDependencies
  ) {
    this.kind = kind;
    this.#limit = limit;
    this.#with = dependencies;
  }

  /**
   * Takes a place for an agent beside `ours`.
   * @param idle agents of ours that wait, so that nobody need look at them
   */
  take(wanting: Placed, ours: Placed[], idle: Ids = new Set()): Place {
    const { agent_id: id, engine } = wanting;
    const all = [...ours.filter(({ agent_id }) => agent_id !== id), wanting];
    const own = this.#passed(all, [engine]);
    if (own) return own === 'kind' ? 'full' : 'engine full';
    const told = () => {
      const others = this.#others(all, idle);
      const passed = this.#passed([...all, ...others], [engine]);
      return passed === 'engine' ? 'engine contended' : passed && 'contended';
    };
    const before = told();
    if (before) return before;
    const directory = this.#with.store.directoryOf(id);
    setStarting(directory, true);
    const after = told();
    if (after) setStarting(directory, false);
    return after ?? 'taken';
  }

  /** Whether agents of these engines could all begin now, beside `ours`. */
  areFree(engines: string[], ours: Placed[]): boolean {
    const wanting = engines.map((engine) => ({ agent_id: '', engine }));
    const all = [...ours, ...this.#others(ours), ...wanting];
    return this.#passed(all, engines) === undefined;
  }

  /** Whether an agent of another server waits for nothing but such a place. */
  areWanted(ours: Ids): boolean {
    const { store, processes, capOf } = this.#with;
    return store.openIds().some((id) => {
      const directory = store.directoryOf(id);
      if (ours.has(id) || wasClaimed(directory)) return false;
      const record = store.recordOf(id);
      return (
        record?.kind === this.kind &&
        (!record.comes_after || isReady(directory)) &&
        liveStateOf(record, directory, processes) === 'queued' &&
        (capOf(record.engine) === undefined ||
          this.#passed([...this.#others([]), record], [record.engine]) !==
            'engine')
      );
    });
  }

  /** Which limit so many agents are too many for. */
  #passed(all: Placed[], engines: string[]): 'kind' | 'engine' | undefined {
    if (all.length > this.#limit) return 'kind';
    const isTooMany = (engine: string) =>
      all.filter((one) => one.engine === engine).length >
      (this.#with.capOf(engine) ?? Number.POSITIVE_INFINITY);
    return engines.some(isTooMany) ? 'engine' : undefined;
  }

  /** Agents at work or about to be, besides those named and those idle. */
  #others(named: Placed[], idle: Ids = new Set()): RunRecord[] {
    const known = new Set(named.map(({ agent_id }) => agent_id));
    const open = this.#with.store.openIds();
    this.#over = new Set(open.filter((id) => this.#over.has(id)));
    return open.flatMap((id) =>
      known.has(id) || idle.has(id) || this.#over.has(id)
        ? []
        : (this.#atWork(id) ?? [])
    );
  }

  #atWork(id: string): RunRecord | undefined {
    const { store, processes } = this.#with;
    const directory = store.directoryOf(id);
    if (!wasClaimed(directory) && !isAnnounced(directory)) return undefined;
    const record = store.recordOf(id);
    if (record?.kind !== this.kind) return undefined;
    const state = store.hasOutcome(id)
      ? 'ended'
      : liveStateOf(record, directory, processes);
    if (state === 'ended') this.#over.add(id);
    return state === 'running' ? record : undefined;
  }
}

/** Longer ago, its server was paused in between: that may delay nobody. */
function isAnnounced(directory: string): boolean {
  const since = startingSince(directory);
  return (
    since !== undefined && Math.abs(Date.now() - since.getTime()) < announcedMs
  );
}
