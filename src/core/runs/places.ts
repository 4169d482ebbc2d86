import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Processes } from './ports.ts';
import type { RunRecord } from './run.ts';
import { isReady, setStarting, startingSince } from './run-files.ts';
import { liveStateOf } from './run-state.ts';
import type { RunStore } from './run-store.ts';

/** From its announcement, a supervisor has this long to write its claim. */
const announcedMs = 2000;

export interface PlacesDependencies {
  store: RunStore;
  processes: Processes;
}

/**
 * The places for agents of one kind that all servers of a workspace share,
 * without a lock. Who wants one first announces it, in a file `starting` in the
 * agent's folder, and counts afterwards: of two that take the last place at
 * once the later one sees both announcements, and whoever counts too many
 * takes his back. A server that was paused or killed in between holds up a
 * place for two seconds at most.
 */
export class Places {
  readonly kind: RunRecord['kind'];
  readonly #limit: number;
  readonly #with: PlacesDependencies;

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
   * Takes a place for an agent beside `ours`. `contended`: other servers have
   * the rest, whose ends nobody tells us of, or want it at the same moment.
   */
  take(
    agentId: string,
    ours: ReadonlySet<string>
  ): 'taken' | 'full' | 'contended' {
    const { store } = this.#with;
    const limit = this.#limit;
    const all = new Set(ours).add(agentId);
    if (all.size > limit) return 'full';
    if (all.size + this.#others(all) > limit) return 'contended';
    const directory = store.directoryOf(agentId);
    setStarting(directory, true);
    if (all.size + this.#others(all) <= limit) return 'taken';
    setStarting(directory, false);
    return 'contended';
  }

  /** Whether an agent of another server waits for such a place. */
  areWanted(ours: ReadonlySet<string>): boolean {
    const { store, processes } = this.#with;
    return store.openIds().some((id) => {
      const directory = store.directoryOf(id);
      if (ours.has(id) || existsSync(join(directory, 'claim'))) return false;
      const record = store.recordOf(id);
      return (
        record?.kind === this.kind &&
        (!record.comes_after || isReady(directory)) &&
        liveStateOf(record, directory, processes) === 'queued'
      );
    });
  }

  /** Agents at work or about to be, besides those named. */
  #others(named: ReadonlySet<string>): number {
    const { store, processes } = this.#with;
    return store.openIds().filter((id) => {
      if (named.has(id)) return false;
      const directory = store.directoryOf(id);
      const claimed = existsSync(join(directory, 'claim'));
      if (!claimed && !isAnnounced(directory)) return false;
      const record = store.recordOf(id);
      if (record?.kind !== this.kind || store.outcomeOf(id)) return false;
      return liveStateOf(record, directory, processes) === 'running';
    }).length;
  }
}

/** Longer ago, its server was paused in between: that may delay nobody. */
function isAnnounced(directory: string): boolean {
  const since = startingSince(directory);
  return (
    since !== undefined && Math.abs(Date.now() - since.getTime()) < announcedMs
  );
}
