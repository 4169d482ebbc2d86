import type { Worktree } from '../runs/run.ts';

/** A changed file. The counts are in lines; null for a binary file. */
export interface FileChange {
  /** Relative to the workspace root. */
  path: string;
  added: number | null;
  removed: number | null;
  renamed_from?: string;
  /** Another agent may have changed it. */
  shared?: true;
}

/** A repository from which a worktree can be created. */
export interface Origin {
  /** The top directory of the repository. */
  top: string;
  /** The commit that is checked out in `top`. */
  head: string;
  /** A branch `troupe` leaves git no room for branches such as `troupe/x`. */
  hasBlockingBranch: boolean;
}

/** A working directory in its current state. */
interface WorkingDirectory {
  /** Any directory of the repository. */
  directory: string;
  /** Directories with files of troupe, which are skipped. */
  owned: string[];
}

/** A working directory to compare with an earlier snapshot. */
export interface View extends WorkingDirectory {
  /** A private folder of troupe for all files that git writes. */
  shadow: string;
  /** The commit to compare with, instead of the snapshot. */
  base?: string;
  /** The paths of changed files are relative to this directory. */
  seenFrom: string;
  /** The top of the original repository; paths in a worktree refer to it. */
  standsFor?: string;
}

export interface Comparison {
  /** In the order of git's output. */
  files: FileChange[];
  /** A sentence about files that were not compared. */
  unseen?: string;
}

/**
 * The git operations that the core needs; implemented in adapters/. A failure
 * rejects with an Error that has git's message, on one line.
 */
export interface Repositories {
  /** The top of the repository around a directory, without starting git. */
  topOf(directory: string): string | undefined;
  /** Stores a snapshot in `view.shadow`; returns false without a repository. */
  remember(view: View, signal: AbortSignal): Promise<boolean>;
  /**
   * Compares a view with its snapshot, and writes the differences to a new file
   * at the path `patch`. Returns undefined if there is no snapshot.
   */
  compare(
    view: View,
    patch: string,
    signal: AbortSignal
  ): Promise<Comparison | undefined>;
  /** Whether a directory has uncommitted changes. */
  hasUncommitted(
    directory: WorkingDirectory,
    signal: AbortSignal
  ): Promise<boolean>;
  originOf(directory: string, signal: AbortSignal): Promise<Origin>;
  /**
   * Creates a worktree, or uses the existing one.
   * @param directory the agent's folder, by which `Processes.stop` finds git if
   *   this process is killed
   */
  addWorktree(
    worktree: Worktree,
    signal: AbortSignal,
    directory?: string
  ): Promise<void>;
  /**
   * Removes a worktree and its branch if nothing was written in it, not even an
   * empty folder. Callers run one removal of a worktree at a time, and none
   * while an agent works in it.
   * @param cwd a directory that was created in it for its agent
   */
  removeUntouched(
    worktree: Worktree,
    cwd: string,
    signal: AbortSignal
  ): Promise<void>;
  /**
   * Removes a worktree with its branch if a git that was stopped has left it
   * incomplete. For a worktree that was never used.
   */
  settleCreation(worktree: Worktree): Promise<void>;
  /**
   * Restores a worktree if a killed process left its removal incomplete, or
   * completes the removal if all was checked.
   */
  putBackWorktree(worktree: Worktree): Promise<void>;
}
