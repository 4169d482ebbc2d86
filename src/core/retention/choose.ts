import type { Resident } from './resident.ts';

/** What may go of agents that nothing holds. */
export interface Policy {
  /** Those that ended so long ago, or longer. */
  olderThanMs?: number;
  /** So many of those that ended last stay, whatever else is said. */
  keep?: number;
  /** The oldest, until all folders together hold no more. */
  maximumBytes?: number;
}

/**
 * Agents that go together or not at all: one, or all turns of a session that
 * only our disk knows. Newest first.
 */
export type Unit = Resident[];

/**
 * What a policy takes, oldest first. `keep` alone takes all others; age and
 * size each take what they name.
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
  const keepsOnly = olderThanMs === undefined && maximumBytes === undefined;
  if (keepsOnly) return keep === undefined ? [] : free;
  const age = olderThanMs ?? Number.POSITIVE_INFINITY;
  // A clock that went back makes nothing old.
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

/** Newest first; those at work before all. */
function byEnd(one: Resident, other: Resident): number {
  const difference = msOf(other) - msOf(one);
  if (difference !== 0 && !Number.isNaN(difference)) return difference;
  return one.agentId < other.agentId ? -1 : 1;
}

function msOf({ endedMs }: Resident): number {
  return endedMs ?? Number.MAX_SAFE_INTEGER;
}

/** When its last one ended. */
function endOf(unit: Unit): number {
  return Math.max(...unit.map(msOf));
}
