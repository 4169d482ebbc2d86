/** One file that differs; the counts are null for what is not text. */
export interface FileChange {
  /** Relative to the workspace root. */
  path: string;
  added: number | null;
  removed: number | null;
  renamed_from?: string;
}

/** A repository as a worktree can be made from it. */
export interface Origin {
  /** Its top directory. */
  top: string;
  /** The commit that is checked out there. */
  head: string;
}

/** A worktree that one agent works in. */
export interface Worktree {
  path: string;
  branch: string;
  /** The commit it was made from. */
  base: string;
  /** Top directory of the repository it belongs to. */
  origin: string;
}

/** A working directory as it is now. */
export interface Sight {
  /** Somewhere in the repository. */
  directory: string;
  /** Directories whose `.agents/` and logs are ours, not the project's. */
  roots: string[];
}

/** A working directory to be compared with what it was before. */
export interface View extends Sight {
  /** A folder of ours for all that git writes. */
  shadow: string;
  /** Compare with this commit instead of with what was there. */
  base?: string;
}

export interface Comparison {
  /** In git's order, at most `limit`. */
  files: FileChange[];
  total: number;
  /** What was not looked at, in one sentence. */
  unseen?: string;
}

/**
 * Repositories, as the core needs them. Implemented in adapters/. What fails
 * rejects with an Error whose message is git's own words on one line.
 */
export interface Repositories {
  /** Where a repository around a directory seems to be; starts no process. */
  topOf(directory: string): string | undefined;
  /** Keeps how a view stands, in its shadow. False: it is in no repository. */
  remember(view: View, signal: AbortSignal): Promise<boolean>;
  /**
   * What changed since; the patch is written to a new file when there is any.
   * Undefined when nothing was remembered.
   */
  compare(
    view: View,
    patch: string,
    limit: number,
    signal: AbortSignal
  ): Promise<Comparison | undefined>;
  /** True when there is work in it that is not committed. */
  hasUncommitted(sight: Sight, signal: AbortSignal): Promise<boolean>;
  originOf(directory: string, signal: AbortSignal): Promise<Origin>;
  /** Makes a worktree, or takes the one that is there. */
  addWorktree(worktree: Worktree, signal: AbortSignal): Promise<void>;
  /** Removes a worktree and its branch if nothing ever happened in it. */
  removeUntouched(worktree: Worktree, signal: AbortSignal): Promise<void>;
}
