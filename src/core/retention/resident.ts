/** Why an agent's folder stays, in the order in which it is told. */
export const holds = [
  'at_work',
  'foreign',
  'summons',
  'squad',
  'session',
  'worktree',
  'unread'
] as const;

/**
 * `at_work`: it runs or is queued, or its end is not in the journal yet;
 * `foreign`: a link, another account's, or no folder as we make them;
 * `summons`: its answer is not in its council yet; `squad`: another member is
 * at work; `session`: another agent goes on in its session; `worktree`: there
 * is one, which may hold its work; `unread`: nobody was given its result.
 */
export type Hold = (typeof holds)[number];

/** An agent's folder as a clean looks at it. */
export interface Resident {
  agentId: string;
  /** Undefined for one that has no recorded end. */
  endedMs: number | undefined;
  completedAt: string | undefined;
  engine: string;
  task: string;
  bytes: number;
  isRead: boolean;
  /** Folders of the sessions it may be a turn of, its own one first. */
  sessions: string[];
  /** The turns of its session are read from our disk when it goes on. */
  isChained: boolean;
  /** Undefined when nothing stands against its removal. */
  hold: Hold | undefined;
  /** What the hold is about: a path, an id. */
  because: string | undefined;
}
