import {
  isSameProcess,
  type ProcessIdentity
} from '../processes/process-identity.ts';
import type { RunRecord } from '../runs/run.ts';
import { claimOf } from '../runs/run-files.ts';
import { heirOf, isStarting } from '../runs/start-marks.ts';
import { withTimeout } from '../timing.ts';
import { changesOf } from './change-file.ts';
import {
  type RemovalDependencies,
  removeUnused,
  restoreWorktree,
  settleCreation
} from './own-worktree.ts';
import type { TimeLimit } from './time-limit.ts';

/** A removal goes on for this time, because a git filter may be slow. */
const removalMs = 60_000;
/** How long an end waits for the removal of a worktree that was used. */
const usedMs = 4000;
/** How long an end waits for that of one that a killed server has left. */
const unusedMs = 500;

/** Removes the worktrees of agents that have ended if they hold no work. */
export class WorktreeRemoval {
  readonly #with: RemovalDependencies;
  readonly #limits: TimeLimit;
  /** Ids of the agents whose worktree this process is about to create. */
  readonly creating = new Set<string>();
  /** By agent id. Never rejects. */
  readonly #running = new Map<string, Promise<boolean>>();

  constructor(dependencies: RemovalDependencies, limits: TimeLimit) {
    this.#with = dependencies;
    this.#limits = limits;
  }

  /** See `ChangeTracker.leave`. */
  async leave(record: RunRecord, isFirst: boolean): Promise<boolean> {
    const { agent_id: id, worktree, owner } = record;
    if (!worktree) return true;
    const directory = this.#with.store.directoryOf(id);
    const claim = claimOf(directory, owner.place);
    if (claim && !claim.never) {
      if (!isFirst)
        await restoreWorktree(worktree, this.#with).catch(() => undefined);
      else if (changesOf(directory)?.total === 0)
        await withTimeout(this.remove(record, true), usedMs, false);
      return true;
    }
    // The agent was only queued.
    const heir = heirOf(directory, owner.place);
    if (!isStarting(directory) && !heir) return true;
    const creator = this.#stateOf(heir?.identity ?? owner, id);
    if (creator !== 'dead') return creator === 'unknown';
    return withTimeout(this.remove(record), unusedMs, false);
  }

  /** Whether a process may still create the worktree of an agent. */
  #stateOf(
    creator: ProcessIdentity,
    agentId: string
  ): 'alive' | 'dead' | 'unknown' {
    const { processes } = this.#with;
    if (!isSameProcess(creator, processes.self))
      return processes.liveness(creator);
    return this.creating.has(agentId) ? 'alive' : 'dead';
  }

  /**
   * Removes an agent's worktree, once for concurrent callers. Returns false if
   * this process ends before that. One that cannot be removed stays.
   * @param isUsed true if the agent has run
   */
  remove(record: RunRecord, isUsed = false): Promise<boolean> {
    const { agent_id: id } = record;
    const running = this.#running.get(id) ?? this.#remove(record, isUsed);
    this.#running.set(id, running);
    void running.then(() => this.#running.delete(id));
    return running;
  }

  async #remove(record: RunRecord, isUsed: boolean): Promise<boolean> {
    const { worktree } = record;
    if (!worktree) return true;
    if (!isUsed) {
      // A killed process may have set it aside.
      await restoreWorktree(worktree, this.#with).catch(() => undefined);
      await settleCreation(record, this.#with);
    }
    const removal = (signal: AbortSignal) =>
      removeUnused(record, worktree, this.#with, signal);
    return this.#limits.within(removalMs, removal).then(
      () => true,
      () => !this.#limits.isShortened
    );
  }
}
