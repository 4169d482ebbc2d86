import { existsSync } from 'node:fs';
import type { AgentMarks, Ancestor, Processes } from './ports.ts';
import { isSameProcess, type ProcessIdentity, type RunRecord } from './run.ts';
import { aboveFolder, claimOf, hasExited } from './run-files.ts';
import { liveStateOf } from './run-state.ts';
import type { RunStore } from './run-store.ts';

export interface OriginDependencies {
  store: Pick<RunStore, 'recordOf' | 'outcomeOf' | 'openIds' | 'directoryOf'>;
  processes: Pick<Processes, 'self' | 'ancestors' | 'liveness'>;
  environment?: Record<string, string | undefined>;
}

interface Agent {
  id: string;
  /** Where its files are or were, if that is known. */
  directory: string | undefined;
}

interface Found {
  depth: number;
  parent: Agent | undefined;
}

/**
 * In which agent this process runs, if it does, and how deep. Told by what is
 * deepest: its own environment, that of the processes above it, and those of
 * them that are supervisors of agents. So clients that hand no environment on
 * and agents that clear it do not hide it. Looked up once, when first asked.
 */
export class Origin {
  readonly #with: OriginDependencies;
  #found: Found | undefined;

  constructor(dependencies: OriginDependencies) {
    this.#with = dependencies;
  }

  get depth(): number {
    return this.#look().depth;
  }

  /** The agent that it runs in. */
  get parent(): string | null {
    return this.#look().parent?.id ?? null;
  }

  /** The agent that it runs in, and those that wait for that one in turn. */
  lineage(): string[] {
    const above: string[] = [];
    let id = this.parent;
    while (id !== null && !above.includes(id)) {
      above.push(id);
      id = this.#with.store.recordOf(id)?.parent ?? null;
    }
    return above;
  }

  /** True while it asks for an agent that is at work, not for a person. */
  isAgents(): boolean {
    const { store, processes } = this.#with;
    const { parent } = this.#look();
    if (!parent) return false;
    const record = store.recordOf(parent.id);
    // A worker, an agent of another workspace, or one that was removed.
    if (!record) return !hasEnded(parent, processes);
    if (store.outcomeOf(parent.id)) return false;
    const directory = store.directoryOf(parent.id);
    const state = liveStateOf(record, directory, processes);
    return state === 'queued' || state === 'running';
  }

  #look(): Found {
    this.#found ??= find(this.#with);
    return this.#found;
  }
}

function find({
  store,
  processes,
  environment = process.env
}: OriginDependencies): Found {
  const own: AgentMarks = {
    agentId: environment.TROUPE_AGENT_ID,
    directory: environment.TROUPE_AGENT_DIR,
    depth: environment.TROUPE_DEPTH
  };
  const ancestors = processes.ancestors();
  const here = processes.self.place;
  const open = store
    .openIds()
    .map((id) => store.recordOf(id))
    .filter((record) => record?.owner.place === here)
    .filter((record) => record !== undefined);
  const supervised = (record: RunRecord) =>
    claimOf(store.directoryOf(record.agent_id), here)?.supervisor;
  const claims = open.flatMap((record) => {
    const supervisor = supervised(record);
    return supervisor ? [{ record, supervisor }] : [];
  });
  const recordOf = (ancestor: Ancestor) =>
    claims.find(({ supervisor }) => isOf(ancestor, supervisor))?.record;
  const records = ancestors.map(recordOf);
  const depths = [
    depthIn(own),
    ...ancestors.map(({ marks }) => depthIn(marks)),
    ...records.map((record) => record?.depth ?? 0)
  ];
  const surest = ancestors
    .map((ancestor, index) => {
      const id = records[index]?.agent_id;
      return id === undefined
        ? supervises(ancestor)
        : { id, directory: store.directoryOf(id) };
    })
    .find((agent) => agent !== undefined);
  const marked = ancestors.map(({ marks }) => agentIn(marks)).find(Boolean);
  return {
    depth: Math.max(...depths),
    parent: surest ?? agentIn(own) ?? marked
  };
}

/** By its own files; false when they tell nothing. */
function hasEnded(
  { directory }: Agent,
  processes: Pick<Processes, 'self' | 'liveness'>
): boolean {
  if (directory === undefined) return false;
  try {
    // It was removed, and does not lie where we cannot see it.
    if (!existsSync(directory)) return existsSync(aboveFolder(directory));
    const claim = claimOf(directory, processes.self.place);
    if (hasExited(directory) || claim?.never) return true;
    const supervisor = claim?.supervisor;
    return supervisor ? processes.liveness(supervisor) === 'dead' : false;
  } catch {
    return false;
  }
}

/** A session keeps its leader's number from others when that is gone. */
function isOf({ identity }: Ancestor, supervisor: ProcessIdentity): boolean {
  return identity.start === ''
    ? identity.pid === supervisor.pid
    : isSameProcess(identity, supervisor);
}

/** The agent of a supervisor that this workspace has no run of: a worker's. */
function supervises({ identity, marks }: Ancestor): Agent | undefined {
  const { directory } = marks;
  if (directory === undefined || identity.start === '') return undefined;
  try {
    const supervisor = claimOf(directory, identity.place)?.supervisor;
    const isIts = supervisor && isSameProcess(supervisor, identity);
    return isIts ? agentIn(marks) : undefined;
  } catch {
    // Anybody may have put that name there.
    return undefined;
  }
}

function agentIn({ agentId: id, directory }: AgentMarks): Agent | undefined {
  return id !== undefined && /^[0-9a-f]{8}$/.test(id)
    ? { id, directory }
    : undefined;
}

function depthIn({ depth }: AgentMarks): number {
  return Math.max(0, Number(depth) || 0);
}
