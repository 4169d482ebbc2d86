import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Reply } from '../../plugin/plugin.ts';
import { messageOf } from '../errors.ts';
import type { RunRecord, Worktree } from '../runs/run.ts';
import { claimOf, exitedAt, startedAt } from '../runs/run-files.ts';
import { whileStarting } from '../runs/start-marks.ts';
import { remove, temporaryName } from '../state/files/atomic-file.ts';
import { ensureDirectory } from '../state/files/directories.ts';
import { attributeChanges, attributionNote } from './attribution.ts';
import {
  awaitComparison,
  changesOf,
  claimComparison,
  keepChanges,
  keepNote,
  releaseComparison,
  settlePatch
} from './change-file.ts';
import {
  type ConcurrentWritersDependencies,
  concurrentWritersOf,
  noteConcurrentWriters
} from './concurrent-writers.ts';
import { writersElsewhere } from './other-workspaces.ts';
import {
  createBelow,
  enterWorktree,
  placeOf,
  reuseWorktree,
  settleCreation
} from './own-worktree.ts';
import type { View } from './ports.ts';
import {
  removeSnapshot,
  removeTree,
  shadowOf,
  snapshotAt
} from './snapshot-folder.ts';
import { ComparisonTime, TimeLimit } from './time-limit.ts';
import { WorktreeRemoval } from './worktree-removal.ts';

interface ChangeTrackerDependencies extends ConcurrentWritersDependencies {
  workspace: string;
  /** The edits that an agent's engine reported. */
  editsOf: (record: RunRecord) => Promise<Reply['edits']>;
}

/** Limit of the files in `changes.json` and in an answer. */
const mostFiles = 100;
const worktreeMs = 60_000;
/** Time limit for reading the output of one agent. */
const readMs = 1000;
/** A directory in which git was too slow gets no snapshot for this time. */
const restMs = 10 * 60_000;
/** A comparison that starts later than this after the end adds a note. */
const lateMs = 5000;

/**
 * Finds what agents change: takes a snapshot of the repository before an agent
 * starts, and compares the files after its end. If that fails, a note reports
 * the failure, and the run is not affected.
 */
export class ChangeTracker {
  readonly #with: ChangeTrackerDependencies;
  readonly #limits = new TimeLimit();
  /** Of the creation of worktrees. */
  readonly #worktreeLimits = new TimeLimit();
  /** Directory → `performance.now()` when git was last too slow there. */
  readonly #slow = new Map<string, number>();
  readonly #time = new ComparisonTime();
  readonly #removal: WorktreeRemoval;

  constructor(dependencies: ChangeTrackerDependencies) {
    this.#with = dependencies;
    this.#removal = new WorktreeRemoval(dependencies, this.#limits);
  }

  /**
   * Called before an agent starts: creates its worktree and takes a snapshot.
   * Returns undefined if there is nothing to do; rejects if the worktree cannot
   * be created.
   */
  prepare(record: RunRecord): Promise<void> | undefined {
    const { cwd, kind, worktree } = record;
    if (kind !== 'cli') return undefined;
    const entering = worktree ? undefined : this.enter(cwd);
    const isSeen = worktree ?? entering ?? this.#with.repositories.topOf(cwd);
    return isSeen ? this.#prepare(record, entering) : undefined;
  }

  /**
   * Called before `prepare` for an agent that this process took over: removes
   * what the killed server had prepared in part.
   */
  clear(record: RunRecord): Promise<void> {
    return this.#whilePreparing(record, async (directory) => {
      await settleCreation(record, this.#with);
      await removeSnapshot(directory);
    });
  }

  /**
   * Called before an agent or a worker starts in an existing directory, once it
   * is recorded: the directory may lie in a worktree that is being removed.
   */
  enter(cwd: string): Promise<void> | undefined {
    return enterWorktree(this.#with.workspace, cwd, this.#with);
  }

  #prepare(
    record: RunRecord,
    entering: Promise<void> | undefined
  ): Promise<void> {
    const { worktree } = record;
    return this.#whilePreparing(record, async (directory, cancelSignal) => {
      await entering;
      if (worktree) await this.#addWorktree(record, worktree, cancelSignal);
      await this.#takeSnapshot(record, directory, cancelSignal);
    });
  }

  /** Keeps an agent's slot, however long git takes. */
  async #whilePreparing(
    { agent_id: id, owner }: RunRecord,
    work: (directory: string, cancelSignal: AbortSignal) => Promise<void>
  ): Promise<void> {
    const directory = this.#with.store.directoryOf(id);
    const cancellation = new AbortController();
    const cancel = () => {
      if (claimOf(directory, owner.place))
        cancellation.abort(new Error('it was canceled'));
    };
    this.#removal.creating.add(id);
    try {
      const ready = work(directory, cancellation.signal);
      await whileStarting(directory, ready, cancel);
    } finally {
      this.#removal.creating.delete(id);
    }
  }

  async #addWorktree(
    record: RunRecord,
    worktree: Worktree,
    cancelSignal: AbortSignal
  ): Promise<void> {
    ensureDirectory(join(worktree.path, '..'));
    const { repositories, store } = this.#with;
    const add = async (signal: AbortSignal) => {
      await reuseWorktree(record, this.#with);
      const directory = store.directoryOf(record.agent_id);
      await repositories.addWorktree(worktree, signal, directory);
    };
    await this.#worktreeLimits
      .within(worktreeMs, add, cancelSignal)
      .catch((error: unknown) => {
        throw new Error(`there is no worktree for it: ${messageOf(error)}`);
      });
    createBelow(worktree.path, record.cwd);
  }

  async #takeSnapshot(
    record: RunRecord,
    directory: string,
    cancelSignal: AbortSignal
  ): Promise<void> {
    const view = this.#viewOf(record, directory);
    const { repositories } = this.#with;
    const began = performance.now();
    try {
      noteConcurrentWriters(record, this.#with);
      const since = this.#slow.get(record.cwd) ?? Number.NEGATIVE_INFINITY;
      if (began - since < restMs)
        return keepNote(directory, 'git was too slow here a moment ago');
      await this.#limits.within(
        this.#time.snapshotMs,
        (signal) => repositories.remember(view, signal),
        cancelSignal
      );
      this.#time.noteSnapshot(record.agent_id, began);
    } catch (error) {
      if (TimeLimit.isPassed(error))
        this.#slow.set(record.cwd, performance.now());
      await removeTree(view.shadow);
      // The note replaces the comparison, which needs the snapshot.
      keepNote(directory, messageOf(error));
    }
  }

  /**
   * Called after the end of an agent, before that end is recorded: compares
   * the files and records the changes, once for concurrent callers. A failed
   * comparison does not reject.
   */
  async conclude(record: RunRecord): Promise<void> {
    const { store, processes } = this.#with;
    const { agent_id: id } = record;
    const directory = store.directoryOf(id);
    const claim = claimOf(directory, record.owner.place);
    if (!claim || claim.never) {
      if (processes.liveness(record.owner) === 'dead')
        await removeSnapshot(directory);
      return;
    }
    const left = this.#time.start(id);
    try {
      await this.#compare(record, directory, left());
      settlePatch(directory);
    } catch (error) {
      keepNote(directory, messageOf(error));
    }
    await removeTree(shadowOf(directory));
  }

  /** Called for an agent that never started: removes snapshot and worktree. */
  async discard(record: RunRecord): Promise<void> {
    await removeSnapshot(this.#with.store.directoryOf(record.agent_id));
    await this.#removal.remove(record);
  }

  /**
   * Called after an end is recorded: removes the agent's worktree if nothing
   * was written in it. Returns false if it has to be called again, by any
   * process: the worktree of an agent that never started is still being made.
   * @param isFirst true in the process that recorded the end. If that is killed
   *   first, the worktree of an agent that has run stays.
   */
  leave(record: RunRecord, isFirst: boolean): Promise<boolean> {
    return this.#removal.leave(record, isFirst);
  }

  /**
   * Limits git from now on, because this process is ending: to one second, or
   * 2.5 for a worktree, without which its agent is not started.
   */
  hurry(): void {
    this.#limits.shorten(1000);
    this.#worktreeLimits.shorten(2500);
  }

  async #compare(
    record: RunRecord,
    directory: string,
    mostMs: number
  ): Promise<void> {
    if (changesOf(directory) || !existsSync(shadowOf(directory))) return;
    const { repositories, processes } = this.#with;
    if (!claimComparison(directory, processes.self)) {
      await awaitComparison(directory, processes);
      if (changesOf(directory)) return;
    }
    const patch = temporaryName(join(directory, 'changes.diff'));
    const late = lateNote(directory);
    try {
      // In a folder at its path, git would find the repository above.
      const place = record.worktree ? placeOf(record.worktree) : 'there';
      if (place !== 'there') throw new Error(`its worktree was ${place}`);
      const found = await this.#limits.within(mostMs, (signal) =>
        repositories.compare(this.#viewOf(record, directory), patch, signal)
      );
      if (!found) return;
      const hasChanges = found.files.length > 0;
      const others = hasChanges ? this.#othersOf(record, directory) : [];
      const attributed = await attributeChanges(found.files, record, others, {
        ...this.#with,
        editsOf: (of) =>
          this.#limits.within(readMs, () => this.#with.editsOf(of))
      });
      const { files } = attributed;
      const total = files.length;
      // An isolated agent's patch has all changes of its worktree.
      const hasPatch =
        total > 0 || (record.worktree !== undefined && hasChanges);
      if (!hasPatch) remove(patch);
      const whose = attributionNote(others, attributed, hasPatch);
      const note = [whose, found.unseen, late].filter(Boolean).join(' ');
      keepChanges(directory, {
        v: 1,
        files: files.slice(0, mostFiles),
        total,
        patch: hasPatch ? basename(patch) : null,
        ...(note === '' ? {} : { note })
      });
    } catch (error) {
      remove(patch);
      // Another process may have finished meanwhile.
      if (!changesOf(directory)) keepNote(directory, messageOf(error));
    } finally {
      releaseComparison(directory);
    }
  }

  /** Other agents and workers that may have changed the same files. */
  #othersOf(record: RunRecord, directory: string): string[] {
    const here = concurrentWritersOf(record, this.#with);
    const since = snapshotAt(directory) ?? startedAt(directory)?.getTime();
    if (since === undefined) return here;
    try {
      return [...here, ...writersElsewhere(record, since, this.#with)];
    } catch {
      // A damaged record of another workspace does not affect this run.
      return here;
    }
  }

  #viewOf({ cwd, worktree }: RunRecord, directory: string): View {
    const { workspace: seenFrom } = this.#with;
    const view = { directory: cwd, shadow: shadowOf(directory), seenFrom };
    if (!worktree) return { ...view, owned: [seenFrom] };
    const { base, origin: standsFor } = worktree;
    return { ...view, base, standsFor, owned: [] };
  }
}

/** The note of a comparison that starts long after the agent's end. */
function lateNote(directory: string): string | undefined {
  const ended = exitedAt(directory);
  if (!ended)
    return 'The time of its end is not known: later changes count too.';
  const lateByMs = Date.now() - ended.getTime();
  return lateByMs < lateMs
    ? undefined
    : `The files were compared ${Math.round(lateByMs / 1000)} s after the end: changes until then count too.`;
}
