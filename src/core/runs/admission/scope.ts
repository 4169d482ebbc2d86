import { HostError } from '../../errors.ts';
import { isSameProcess } from '../../processes/process-identity.ts';
import type { Processes } from '../ports.ts';
import type { Caller, Run, RunRecord } from '../run.ts';
import type { RunStore } from '../run-store.ts';
import type { CallerContext } from './caller-context.ts';

/** Which agents a wait without ids waits for. */
export type Scope = 'mine' | 'workspace';

export interface Asker {
  /** Undefined for a command line, which owns no agents. */
  caller?: Caller | undefined;
  /** Whether another session of this server still has a client. */
  isThere: (session: string) => boolean;
}

interface ScopeDependencies {
  store: Pick<RunStore, 'recordOf'>;
  processes: Pick<Processes, 'self' | 'liveness'>;
  origin: Pick<CallerContext, 'isAgents' | 'lineage'>;
}

interface InScope {
  ids: string[];
  /** The number of other active agents. */
  others: number;
}

/**
 * The active runs that a wait without ids waits for: the descendants of an
 * agent, or the runs of a client. With `workspace`, it waits for all runs
 * except the calling agent and its ancestors, which wait for that agent.
 */
export function inScope(
  active: readonly Run[],
  scope: Scope,
  asker: Asker,
  dependencies: ScopeDependencies
): InScope {
  const above = lineageOf(dependencies.origin);
  const [parent] = above;
  const records = active
    .map(({ record }) => record)
    .filter(({ agent_id: id }) => !above.includes(id));
  const isWanted = (record: RunRecord) => {
    if (scope === 'workspace') return true;
    const chain = chainOf(record, dependencies.store);
    return parent === undefined
      ? isOwn(chain, asker, dependencies)
      : chain.some((one) => one.parent === parent);
  };
  const ids = records.filter(isWanted).map(({ agent_id: id }) => id);
  return { ids, others: records.length - ids.length };
}

/** @throws HostError `invalid_input` for an agent that waits for the caller */
export function refuseLineage(
  ids: string[],
  origin: ScopeDependencies['origin']
): void {
  const above = lineageOf(origin);
  const own = ids.find((id) => above.includes(id));
  if (own === undefined) return;
  throw new HostError(
    'invalid_input',
    `Agent ${own} is ${own === above[0] ? 'the caller' : 'waiting for the caller'}: it cannot end before this wait does.`,
    'Wait for the others only, by their ids.'
  );
}

function lineageOf(origin: ScopeDependencies['origin']): string[] {
  return origin.isAgents() ? origin.lineage() : [];
}

/** A run and its known ancestors, nearest first. */
function chainOf(
  record: RunRecord,
  store: ScopeDependencies['store']
): RunRecord[] {
  const chain = [record];
  for (let id = record.parent; id !== null; ) {
    const above = store.recordOf(id);
    if (!above || chain.includes(above)) break;
    chain.push(above);
    id = above.parent;
  }
  return chain;
}

/** True for runs of the caller's session or of its client's ended sessions. */
function isOwn(
  chain: RunRecord[],
  { caller, isThere }: Asker,
  { processes }: ScopeDependencies
): boolean {
  if (!caller) return false;
  const { self, liveness } = processes;
  const isOurs = ({ owner }: RunRecord) => isSameProcess(owner, self);
  const isStarted = (record: RunRecord) =>
    isOurs(record) && record.caller?.session === caller.session;
  if (chain.some(isStarted)) return true;
  // An agent's agents belong to the client that spawned the agent.
  const root = chain.at(-1);
  if (root?.parent !== null) return false;
  if (root.caller?.client !== caller.client) return false;
  const { session } = root.caller;
  return isOurs(root)
    ? session !== undefined && !isThere(session)
    : liveness(root.owner) === 'dead';
}
