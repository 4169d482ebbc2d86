/** Reasons why an agent's folder is kept, in the order of reports. */
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
 * `foreign`: a link, a folder of another account, or one without our record;
 * `summons`: its answer is not in its council yet; `squad`: another member is
 * at work; `session`: another agent continues its session; `worktree`: its
 * worktree exists and may contain its work; `unread`: no caller has read its
 * result.
 */
export type Hold = (typeof holds)[number];

/** An agent's folder as a scan found it. */
export interface Resident {
  agentId: string;
  /** Undefined without a recorded end. */
  endedMs: number | undefined;
  completedAt: string | undefined;
  engine: string;
  task: string;
  bytes: number;
  isRead: boolean;
  /** Folders of the sessions that it may be a turn of, its own one first. */
  sessions: string[];
  /** Set for an API agent: its session exists only as turns on this disk. */
  isChained: boolean;
  /** Undefined when it may be removed. */
  hold: Hold | undefined;
  /** A path or id that the hold refers to. */
  because: string | undefined;
}

/** Which agents a clean removes. It never removes an agent with a hold. */
export interface Policy {
  /** Removes agents that ended this long ago, or longer. */
  olderThanMs?: number;
  /** Keeps this many of the agents that ended last. */
  keep?: number;
  /** Removes the oldest agents until all folders take at most this. */
  maximumBytes?: number;
}

/**
 * Agents that are removed together or not at all, newest first: a single agent,
 * or all turns of a session that exists only on this disk.
 */
export type Unit = Resident[];

/**
 * Selects units by a policy, oldest first. A unit is selected for its age or
 * for the total size. With `keep` alone, all other units are selected.
 */
export function choose(
  residents: Resident[],
  { olderThanMs, keep, maximumBytes }: Policy,
  now = Date.now()
): Unit[] {
  const ended = residents.filter(({ endedMs }) => endedMs !== undefined);
  const newest = [...ended].sort(byEnd).slice(0, keep ?? 0);
  const stays = new Set(newest.map(({ agentId }) => agentId));
  const isFree = ({ agentId, hold }: Resident) => !hold && !stays.has(agentId);
  const free = unitsOf(residents)
    .filter((unit) => unit.every(isFree))
    .sort((a, b) => endOf(a) - endOf(b));
  if (olderThanMs === undefined && maximumBytes === undefined)
    return keep === undefined ? [] : free;
  const age = olderThanMs ?? Number.POSITIVE_INFINITY;
  // A clock that was set back makes no agent old.
  const isOld = (unit: Unit) => Math.max(0, now - endOf(unit)) >= age;
  let bytes = bytesOf(residents) - bytesOf(free.filter(isOld).flat());
  return free.filter((unit) => {
    if (isOld(unit)) return true;
    if (bytes <= (maximumBytes ?? Number.POSITIVE_INFINITY)) return false;
    bytes -= bytesOf(unit);
    return true;
  });
}

/** Groups agents; each unit newest first. */
export function unitsOf(residents: Resident[]): Unit[] {
  const units = new Map<string, Unit>();
  for (const resident of residents) {
    const { agentId, sessions, isChained } = resident;
    const key = (isChained && sessions[0]) || agentId;
    const unit = units.get(key);
    if (unit) unit.push(resident);
    else units.set(key, [resident]);
  }
  return [...units.values()].map((unit) => unit.sort(byEnd));
}

export function bytesOf(residents: Resident[]): number {
  return residents.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Sorts newest first, and agents without a recorded end before all others. */
function byEnd(one: Resident, other: Resident): number {
  const difference = msOf(other) - msOf(one);
  if (difference !== 0 && !Number.isNaN(difference)) return difference;
  return one.agentId < other.agentId ? -1 : 1;
}

function msOf({ endedMs }: Resident): number {
  return endedMs ?? Number.MAX_SAFE_INTEGER;
}

/** When the last agent of a unit ended, in ms since the epoch. */
function endOf(unit: Unit): number {
  return Math.max(...unit.map(msOf));
}
