import { HostError } from '../../core/errors.ts';
import {
  type EndedWorker,
  endedWorkers
} from '../../core/retention/ended-workers.ts';
import {
  findLeftovers,
  type Leftovers
} from '../../core/retention/leftovers.ts';
import {
  choose,
  type Hold,
  type Policy,
  type Resident,
  type Unit,
  unitsOf
} from '../../core/retention/select.ts';
import { Trash } from '../../core/retention/trash.ts';
import type { Host } from '../../host/host.ts';
import { noSuchAgent } from '../output/agents.ts';

/** Why an agent stays; `retained` if no rule removes it. */
export type Stay = Hold | 'retained';

/** What `troupe clean` would remove, or has removed. */
export interface CleanPlan {
  residents: Resident[];
  units: Unit[];
  agents: Resident[];
  workers: EndedWorker[];
  withWorkers: boolean;
  leftovers: Leftovers & { trash: number };
  stays: { agent: Resident; why: Stay }[];
  isEmpty: boolean;
  problems: string[];
}

interface Wanted {
  ids: string[];
  policy: Policy | undefined;
  workers: boolean;
}

/** @throws HostError when a named agent has to stay */
export function makePlan(
  host: Host,
  residents: Resident[],
  { ids, policy, workers: withWorkers }: Wanted
): CleanPlan {
  const { store, paths, processes } = host;
  const units =
    ids.length > 0
      ? named(ids, residents, host)
      : policy
        ? choose(residents, policy)
        : [];
  const agents = units.flat();
  const going = new Set(agents.map(({ agentId }) => agentId));
  const left = residents.filter(({ agentId }) => !going.has(agentId));
  const isThere = (id: string) => !going.has(id) && store.has(id);
  const leftovers = {
    ...findLeftovers(store, left, isThere),
    trash: new Trash(store.root, processes).leftovers()
  };
  const ageMs = policy?.olderThanMs ?? 0;
  const workers = withWorkers
    ? endedWorkers(paths, processes).filter(
        ({ endedMs }) => Math.max(0, Date.now() - endedMs) >= ageMs
      )
    : [];
  const count = agents.length + workers.length + leftoverCount(leftovers);
  return {
    residents,
    units,
    agents,
    workers,
    withWorkers,
    leftovers,
    stays: whyTheyStay(left),
    isEmpty: count === 0,
    problems: []
  };
}

export function leftoverCount({
  squads,
  sessions,
  marks,
  drafts,
  trash
}: CleanPlan['leftovers']): number {
  return squads.length + sessions.length + marks.length + drafts + trash;
}

/** Named agents are removed even if they are unread. */
function named(ids: string[], residents: Resident[], host: Host): Unit[] {
  const byId = new Map(residents.map((one) => [one.agentId, one]));
  for (const id of ids) {
    const one = byId.get(id);
    if (!one) throw noSuchAgent(id, host);
    if (one.hold && one.hold !== 'unread') throw held(one, one.hold);
  }
  const units = unitsOf(residents).filter((unit) =>
    unit.some(({ agentId }) => ids.includes(agentId))
  );
  const rest = units.flat().filter(({ agentId }) => !ids.includes(agentId));
  const [first] = rest;
  if (!first) return units;
  const others = rest.map(({ agentId }) => agentId).join(' ');
  throw new HostError(
    'invalid_input',
    `Agent ${first.agentId} could not be continued without them: they are turns of one session.`,
    `Give all of them, also ${others}. Nothing was removed.`
  );
}

function held({ agentId, because }: Resident, hold: Hold): HostError {
  return new HostError(
    'invalid_input',
    `Agent ${agentId} stays: ${reasonOf(hold, because)}.`,
    'Leave it out, or try again when that is over. Nothing was removed.'
  );
}

/** Why an agent stays, as a clause of a message. */
export function reasonOf(hold: Hold, because: string | undefined): string {
  switch (hold) {
    case 'at_work':
      return 'it is running or queued, or has just ended';
    case 'foreign':
      return `${because} is a link, belongs to another account, or is not as troupe makes it`;
    case 'summons':
      return 'its answer is not in its council yet';
    case 'squad':
      return `another member of ${because} is at work`;
    case 'session':
      return `agent ${because} continues its session`;
    case 'worktree':
      return `its worktree may hold work (${because}); remove it with "git worktree remove"`;
    case 'unread':
      return 'its result was not read';
  }
}

function whyTheyStay(left: Resident[]): CleanPlan['stays'] {
  return unitsOf(left).flatMap((unit) => {
    const isHeld = unit.some(({ hold }) => hold);
    return unit.map((agent) => ({
      agent,
      why: agent.hold ?? (isHeld ? ('session' as const) : ('retained' as const))
    }));
  });
}
