import { existsSync } from 'node:fs';
import {
  isSameProcess,
  type ProcessIdentity
} from '../../processes/process-identity.ts';
import type { AgentMarks, Ancestor, Processes } from '../ports.ts';
import { isAgentId } from '../run.ts';
import { aboveFolder, claimOf, hasExited } from '../run-files.ts';
import { liveStateOf, statusOf } from '../run-state.ts';
import type { RunStore } from '../run-store.ts';

interface CallerContextDependencies {
  store: Pick<RunStore, 'recordOf' | 'outcomeOf' | 'openIds' | 'directoryOf'>;
  processes: Pick<Processes, 'self' | 'ancestors' | 'liveness'>;
  environment?: Record<string, string | undefined>;
}

interface Agent {
  id: string;
  /** The agent's folder, which may have been removed; undefined if unknown. */
  directory: string | undefined;
}

interface Found {
  depth: number;
  parent: Agent | undefined;
}

/**
 * Finds the agent that this process runs in, if any, and its depth. The
 * greatest depth of three sources counts: the environment of this process, the
 * environments of its ancestors, and the ancestors that supervise agents. So
 * the agent is found even if a client or the agent clears the environment. The
 * sources are read once, at first use.
 */
export class CallerContext {
  readonly #with: CallerContextDependencies;
  #found: Found | undefined;

  constructor(dependencies: CallerContextDependencies) {
    this.#with = dependencies;
  }

  get depth(): number {
    return this.#find().depth;
  }

  /** Id of the agent that this process runs in. */
  get parent(): string | null {
    return this.#find().parent?.id ?? null;
  }

  /** Ids of the agent that this process runs in, its parent, and so on. */
  lineage(): string[] {
    const above: string[] = [];
    let id = this.parent;
    while (id !== null && !above.includes(id)) {
      above.push(id);
      id = this.#with.store.recordOf(id)?.parent ?? null;
    }
    return above;
  }

  /** True while the caller is an agent that has not ended, not a person. */
  isAgents(): boolean {
    const { store, processes } = this.#with;
    const { parent } = this.#find();
    if (!parent) return false;
    const record = store.recordOf(parent.id);
    // The agent is a worker, belongs to another workspace, or was removed.
    if (!record) return !hasEnded(parent, processes);
    if (store.outcomeOf(parent.id)) return false;
    const directory = store.directoryOf(parent.id);
    return statusOf(liveStateOf(record, directory, processes)) !== 'ended';
  }

  #find(): Found {
    this.#found ??= find(this.#with);
    return this.#found;
  }
}

function find({
  store,
  processes,
  environment = process.env
}: CallerContextDependencies): Found {
  const own: AgentMarks = {
    agentId: environment.TROUPE_AGENT_ID,
    directory: environment.TROUPE_AGENT_DIR,
    depth: environment.TROUPE_DEPTH
  };
  const here = processes.self.place;
  const supervised = store.openIds().flatMap((id) => {
    const record = store.recordOf(id);
    if (record?.owner.place !== here) return [];
    const directory = store.directoryOf(id);
    const supervisor = claimOf(directory, here)?.supervisor;
    return supervisor
      ? [{ id, directory, depth: record.depth, supervisor }]
      : [];
  });
  const ancestors = processes.ancestors().map((ancestor) => ({
    ancestor,
    run: supervised.find(({ supervisor }) => isSameAs(ancestor, supervisor))
  }));
  const marks = [own, ...ancestors.map(({ ancestor }) => ancestor.marks)];
  return {
    depth: Math.max(
      ...marks.map(depthIn),
      ...ancestors.map(({ run }) => run?.depth ?? 0)
    ),
    parent:
      ancestors
        .map(({ ancestor, run }) => run ?? workerOf(ancestor))
        .find(Boolean) ?? marks.map(agentIn).find(Boolean)
  };
}

/** Whether the files of an agent show that it has ended. */
function hasEnded(
  { directory }: Agent,
  processes: Pick<Processes, 'self' | 'liveness'>
): boolean {
  if (directory === undefined) return false;
  try {
    // The folder was removed, unless the whole record is inaccessible.
    if (!existsSync(directory)) return existsSync(aboveFolder(directory));
    const claim = claimOf(directory, processes.self.place);
    if (hasExited(directory) || claim?.never) return true;
    const supervisor = claim?.supervisor;
    return supervisor ? processes.liveness(supervisor) === 'dead' : false;
  } catch {
    return false;
  }
}

/**
 * The pid of an ended session leader identifies it, because no other process
 * gets that pid while the session exists.
 */
function isSameAs(
  { identity }: Ancestor,
  supervisor: ProcessIdentity
): boolean {
  return identity.start === ''
    ? identity.pid === supervisor.pid
    : isSameProcess(identity, supervisor);
}

/** The worker that an ancestor supervises. Workers have no run in the store. */
function workerOf({ identity, marks }: Ancestor): Agent | undefined {
  const { directory } = marks;
  if (directory === undefined || identity.start === '') return undefined;
  try {
    const supervisor = claimOf(directory, identity.place)?.supervisor;
    const isSupervisor = supervisor && isSameProcess(supervisor, identity);
    return isSupervisor ? agentIn(marks) : undefined;
  } catch {
    // The environment may name any path.
    return undefined;
  }
}

function agentIn({ agentId: id, directory }: AgentMarks): Agent | undefined {
  return id !== undefined && isAgentId(id) ? { id, directory } : undefined;
}

function depthIn({ depth }: AgentMarks): number {
  return Math.max(0, Number(depth) || 0);
}
