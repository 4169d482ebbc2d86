import { setTimeout as delay } from 'node:timers/promises';
import { HostError, messageOf, storageError } from '../errors.ts';
import type { Admission } from '../runs/admission.ts';
import type { Run } from '../runs/run.ts';
import type { Spawned, SpawnRequest } from '../runs/spawn-request.ts';
import {
  type PlannedMember,
  type PlanningTools,
  planMembers
} from './plan-members.ts';
import type { RoleList } from './role-repository.ts';
import type { SquadRequest } from './squad-request.ts';
import type { Squad, SquadStore } from './squad-store.ts';
import { beginners, Turns } from './turns.ts';

export interface SquadsDependencies extends PlanningTools {
  squads: SquadStore;
  admission: Pick<
    Admission,
    'checkDepth' | 'checkDisk' | 'checkRate' | 'checkRoom' | 'count'
  >;
  spawn: (request: SpawnRequest) => Promise<Spawned>;
}

export interface StartedSquad {
  squad: Squad;
  /** The members' agents as they were when they were spawned. By agent id. */
  begun: Map<string, Run>;
  /** Why a member has no agent: the disk took no more. By agent id. */
  refused: Map<string, string>;
  /** What the caller should know of other agents. */
  warning?: string;
}

/** No start takes so long. */
const youngMs = 60_000;
/** Between two agents of one that is being started. */
const pauseMs = 3000;

/** Squads: several roles, each with a task, started by one call. */
export class Squads {
  readonly #with: SquadsDependencies;

  constructor(dependencies: SquadsDependencies) {
    this.#with = dependencies;
  }

  roles(): Promise<RoleList> {
    return this.#with.roles.all();
  }

  /** @throws HostError `unknown_squad` */
  get(squadId: string): Squad {
    const squad = this.#with.squads.find(squadId);
    if (squad) return squad;
    throw new HostError(
      'unknown_squad',
      `There is no squad "${squadId.slice(0, 100)}" in this workspace.`,
      'Call list: it names the squads of agents at work.'
    );
  }

  /**
   * A squad and which of its agents are there. One that is being started, by
   * whatever server, is waited for as long as that goes on.
   * @throws HostError `unknown_squad`
   */
  async agentsOf(squadId: string): Promise<{ ids: string[]; missing: number }> {
    const { members, created_at } = this.get(squadId);
    const there = () =>
      members
        .map(({ agentId }) => agentId)
        .filter((id) => this.#with.store.has(id));
    const isYoung = Date.now() - Date.parse(created_at) < youngMs;
    let ids = there();
    let since = performance.now();
    while (isYoung && ids.length < members.length) {
      if (performance.now() - since > pauseMs) break;
      await delay(50);
      const now = there();
      if (now.length > ids.length) since = performance.now();
      ids = now;
    }
    return { ids, missing: members.length - ids.length };
  }

  /**
   * Starts a squad when all its members are in order; else nothing at all. It
   * is on disk, with the ids of its agents, before the first of them starts.
   * @throws HostError as planning a member does, or as a spawn does
   */
  async start(request: SquadRequest): Promise<StartedSquad> {
    const { squads, store, settings, admission, spawn } = this.#with;
    admission.checkDepth();
    const planned = await planMembers(request.members, this.#with);
    admission.checkDisk();
    await admission.checkRoom(
      beginners(planned, settings).map(({ engine }) => engine.name)
    );
    admission.checkRate(planned.length);
    const squad = this.#written(planned, request.metadata);
    admission.count(planned.length);
    const turns = new Turns(settings, store);
    const begun = new Map<string, Run>();
    const refused = new Map<string, string>();
    let warning: string | undefined;
    for (const [index, member] of planned.entries()) {
      try {
        const after = this.#turnOf(member, turns);
        const of = { squadId: squad.squadId, index };
        const request = this.#requestFor(member, of);
        const isWarned = isFollowed(planned, index);
        const spawned = await spawn({
          ...request,
          after,
          isWarned,
          isCounted: true
        });
        if (spawned.failure) turns.pass(member);
        else begun.set(member.agentId, spawned);
        warning ??= spawned.warning;
      } catch (error) {
        // Once its record is there it runs, or is told how it ended.
        if (store.has(member.agentId)) continue;
        turns.giveBack(member);
        // What refuses the first refuses all; later ones are told with theirs.
        if (index === 0) squads.discard(squad.squadId);
        if (index === 0) throw error;
        refused.set(member.agentId, reasonOf(error));
      }
    }
    return {
      squad,
      begun,
      refused,
      ...(warning === undefined ? {} : { warning })
    };
  }

  #written(
    planned: PlannedMember[],
    metadata: SquadRequest['metadata']
  ): Squad {
    const { squads, settings, store } = this.#with;
    const squadId = squads.newId();
    const squad: Squad = {
      v: 1,
      squadId,
      created_at: new Date().toISOString(),
      stateMode: settings.stateMode,
      members: planned.map(({ role, shownCwd, agentId }, index) => ({
        memberId: memberId(squadId, index),
        roleId: role.id,
        cwd: shownCwd,
        agentId
      })),
      ...(metadata === undefined ? {} : { metadata })
    };
    try {
      squads.create(squad);
    } catch (error) {
      throw storageError(error, store.root);
    }
    return squad;
  }

  #turnOf(member: PlannedMember, turns: Turns): SpawnRequest['after'] {
    try {
      return turns.take(member);
    } catch (error) {
      throw storageError(error, this.#with.store.root);
    }
  }

  #requestFor(
    member: PlannedMember,
    { squadId, index }: { squadId: string; index: number }
  ): SpawnRequest {
    const { role, chat, failure, engine, cwd } = member;
    return {
      agentId: member.agentId,
      engine: engine.name,
      as: member.as,
      template: member.template,
      prompt: member.prompt,
      task: `${role.id}: ${member.task.trimStart()}`,
      model: role.model,
      access: role.access,
      cwd: engine.kind === 'cli' ? cwd : undefined,
      timeoutSeconds: this.#with.settings.timeoutSeconds,
      squad: { squadId, memberId: memberId(squadId, index), roleId: role.id },
      inChat: this.#with.settings.stateMode === 'stateful',
      createChat: member.createChat,
      failure,
      ...(chat
        ? { continues: { agentId: chat.lastAgent, sessionId: chat.id } }
        : {})
    };
  }
}

/** One look for other writers in a directory is enough: when all are there. */
function isFollowed(planned: PlannedMember[], index: number): boolean {
  const { cwd } = planned[index] ?? {};
  return planned
    .slice(index + 1)
    .some((member) => member.cwd === cwd && isWriter(member));
}

function isWriter({ engine, role, failure }: PlannedMember): boolean {
  return engine.kind === 'cli' && role.access !== 'read' && !failure;
}

function reasonOf(error: unknown): string {
  const hint = error instanceof HostError ? ` ${error.hint}` : '';
  return `${messageOf(error)}${hint}`;
}

function memberId(squadId: string, index: number): string {
  return `${squadId}-m${index + 1}`;
}
