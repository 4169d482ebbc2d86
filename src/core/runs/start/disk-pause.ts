import { dirname } from 'node:path';
import { isOutOfSpace, messageOf } from '../../errors.ts';
import { isRefused, refusalIn } from '../damaged-run.ts';
import type { RunRecord } from '../run.ts';

/** The first pause before the disk is tried; each one after it is doubled. */
const firstMs = 200;
const longestMs = 5000;
/** A pause that begins later than this after another one is a new problem. */
const sameMs = 60_000;

/** An agent needs some room for its output, too. */
const triedBytes = 64 * 1024;

interface DiskPauseDependencies {
  /** The folder of the record, on the disk that is tried. */
  directory: string;
  /** Called when the disk takes a file again. */
  onRoom: () => void;
  onProblem: (problem: unknown) => void;
}

/**
 * Keeps a server from starting agents while the disk of the record is full or
 * read-only, and finds out when it takes files again.
 */
export class DiskPause {
  readonly #with: DiskPauseDependencies;
  #timer: NodeJS.Timeout | undefined;
  #pauseMs = firstMs;
  /** When the last pause was over. */
  #overAt = Number.NEGATIVE_INFINITY;
  #isEnded = false;

  constructor(dependencies: DiskPauseDependencies) {
    this.#with = dependencies;
  }

  /** Whether no agent may start. */
  get isOn(): boolean {
    return this.#timer !== undefined;
  }

  /**
   * Begins a pause, unless there is one.
   * @param directory where a file was refused, if not in the record
   */
  begin(problem: unknown, directory = this.#with.directory): void {
    if (this.#timer || this.#isEnded) return;
    const { onProblem } = this.#with;
    if (performance.now() - this.#overAt > sameMs) this.reset();
    // A pause that follows another one is part of the same problem.
    if (this.#pauseMs === firstMs)
      onProblem(
        new Error(
          `Agents stay queued until files can be written in ${directory}: ${messageOf(problem)}`
        )
      );
    this.#schedule();
  }

  /** Makes the next pause a short one, because an agent could start. */
  reset(): void {
    this.#pauseMs = firstMs;
  }

  /** Ends the pauses for good. */
  end(): void {
    this.#isEnded = true;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Whether the disk takes no file now. */
  isRefused(): boolean {
    const { directory } = this.#with;
    const problem = refusalIn(directory, triedBytes);
    return problem !== undefined && isRefused(problem, directory);
  }

  #schedule(): void {
    this.#timer = setTimeout(() => {
      if (this.isRefused()) return this.#schedule();
      this.#timer = undefined;
      this.#overAt = performance.now();
      this.#with.onRoom();
    }, this.#pauseMs).unref();
    this.#pauseMs = Math.min(2 * this.#pauseMs, longestMs);
  }
}

/**
 * The folder of a run's worktree, if its disk is full. One that is read-only,
 * as the workspace of a container may be, stays so.
 */
export function fullTreesOf({ worktree }: RunRecord): string | undefined {
  const trees = worktree && dirname(worktree.path);
  return trees !== undefined && isOutOfSpace(refusalIn(trees, triedBytes))
    ? trees
    : undefined;
}
