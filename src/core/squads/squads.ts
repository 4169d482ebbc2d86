import { setTimeout as delay } from 'node:timers/promises';
import type { Engine } from '../../plugin/plugin.ts';
import { HostError, messageOf, storageError } from '../errors.ts';
import type { Admission } from '../runs/admission/admission.ts';
import type { Caller, Run } from '../runs/run.ts';
import type { RunStore } from '../runs/run-store.ts';
import { queueTurn, releaseTurn } from '../runs/sessions/session-turns.ts';
import type { Earlier, Spawned, SpawnRequest } from '../runs/spawn-request.ts';
import { unknownAgent } from '../runs/start/continue-run.ts';
import {
  type MemberRequest,
  type PlannedMember,
  type PlanningTools,
  planMembers
} from './plan-members.ts';
import type { RoleList } from './role-repository.ts';
import type { SquadSettings } from './settings.ts';
import type { Squad, SquadStore } from './squad-store.ts';

interface SquadsDependencies extends PlanningTools {
  squads: SquadStore;
  admission: Pick<
    Admission,
    'checkDepth' | 'checkDisk' | 'checkRate' | 'checkRoom' | 'count'
  >;
  spawn: (request: SpawnRequest) => Promise<Spawned>;
}

interface SquadRequest {
  members: MemberRequest[];
  caller?: Caller | undefined;
  metadata?: Record<string, unknown> | undefined;
}

export interface StartedSquad {
  squad: Squad;
  /** The members' runs when they were spawned, by agent id. */
  begun: Map<string, Run>;
  /** Why a member has no agent, such as a full disk. By agent id. */
  refused: Map<string, string>;
  /** A note about other agents for the caller. */
  warning?: string;
}

/** The longest time that the start of a squad takes. */
const startMs = 60_000;
/** The longest pause between two agents of a squad that is being started. */
const pauseMs = 3000;

/** Squads: several roles, each with a task, started with one call. */
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
   * The recorded agents of a squad. While a server is still starting the squad,
   * the call waits for its agents.
   * @throws HostError `unknown_squad`
   */
  async agentsOf(squadId: string): Promise<{ ids: string[]; missing: number }> {
    const { members, created_at } = this.get(squadId);
    const recorded = () =>
      members
        .map(({ agentId }) => agentId)
        .filter((id) => this.#with.store.has(id));
    const isRecent = Date.now() - Date.parse(created_at) < startMs;
    let ids = recorded();
    let since = performance.now();
    while (isRecent && ids.length < members.length) {
      if (performance.now() - since > pauseMs) break;
      await delay(50);
      const now = recorded();
      if (now.length > ids.length) since = performance.now();
      ids = now;
    }
    return { ids, missing: members.length - ids.length };
  }

  /**
   * Starts a squad if all of its members are valid, else nothing. The squad is
   * on disk, with the ids of its agents, before the first of them starts.
   * @throws HostError as `planMembers` or a spawn does
   */
  async start(request: SquadRequest): Promise<StartedSquad> {
    const { squads, store, settings, admission, spawn } = this.#with;
    admission.checkDepth();
    const planned = await planMembers(request.members, this.#with);
    admission.checkDisk();
    await admission.checkRoom(
      membersToStart(planned, settings).map(({ engine }) => engine.name)
    );
    admission.checkRate(planned.length);
    const squad = this.#create(planned, request.metadata);
    admission.count(planned.length);
    const turns = new Turns(settings, store);
    const begun = new Map<string, Run>();
    const refused = new Map<string, string>();
    let warning: string | undefined;
    for (const [index, member] of planned.entries()) {
      try {
        const after = withStorageError(store.root, () => turns.take(member));
        const spawned = await spawn({
          ...this.#requestFor(member, squad.squadId, index),
          caller: request.caller,
          after,
          isWarned: hasLaterWriter(planned, index),
          isCounted: true
        });
        if (spawned.failure) turns.pass(member);
        else begun.set(member.agentId, spawned);
        warning ??= spawned.warning;
      } catch (error) {
        // Once its record is written, the run reports how it ended.
        if (store.has(member.agentId)) continue;
        turns.release(member);
        // The call fails with its first member; later failures are reported.
        if (index === 0) {
          squads.discard(squad.squadId);
          throw error;
        }
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

  #create(planned: PlannedMember[], metadata: SquadRequest['metadata']): Squad {
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
    withStorageError(store.root, () => squads.create(squad));
    return squad;
  }

  #requestFor(
    member: PlannedMember,
    squadId: string,
    index: number
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
      ask: member.ask,
      askTimeoutSeconds: member.askTimeoutSeconds,
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

function withStorageError<Result>(
  directory: string,
  work: () => Result
): Result {
  try {
    return work();
  } catch (error) {
    throw storageError(error, directory);
  }
}

/** The check for other writers runs once per directory, at its last member. */
function hasLaterWriter(planned: PlannedMember[], index: number): boolean {
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

/** The properties that decide a member's turn. */
export type InTurn = Pick<
  PlannedMember,
  'agentId' | 'engine' | 'chat' | 'failure'
>;

type TurnSettings = Pick<SquadSettings, 'executionMode' | 'sequentialDelayMs'>;

/** The CLI members that need a slot at once: first in each of their queues. */
export function membersToStart<Member extends InTurn>(
  members: Member[],
  settings: TurnSettings
): Member[] {
  const started = new Set<string>();
  return members.filter(({ engine, chat, failure }) => {
    if (failure) return false;
    const queues = [
      queueOf(engine, settings),
      chat && `${engine.name} ${chat.id}`
    ].filter((queue) => queue !== undefined);
    const isFirst = queues.every((queue) => !started.has(queue));
    for (const queue of queues) started.add(queue);
    return isFirst && engine.kind === 'cli';
  });
}

/**
 * Determines which agents each member of a squad waits for: the earlier ones in
 * its chat, of any squad, and the previous member of this squad if members run
 * one at a time. Call `take` in the order of the members.
 */
export class Turns {
  readonly #settings: TurnSettings;
  readonly #store: RunStore;
  /** The last agent of each queue, by the name of the queue. */
  readonly #last = new Map<string, string>();
  /** The agent before the last one in the queue of the latest `take`. */
  #previous: string | undefined;

  constructor(settings: TurnSettings, store: RunStore) {
    this.#settings = settings;
    this.#store = store;
  }

  /**
   * @throws the system's error when the write fails, HostError `unknown_agent`
   *   when the chat was cleaned since it was planned
   */
  take({ agentId, engine, chat, failure }: InTurn): Earlier[] {
    if (failure) return [];
    const inChat = chat
      ? queueTurn(engine.name, chat.id, agentId, this.#store)
      : [];
    // An API chat is in the record; its turn now keeps it from being cleaned.
    if (chat && engine.kind === 'api' && !this.#store.has(chat.id))
      throw unknownAgent(chat.id, this.#store);
    const after = inChat.map((agentId): Earlier => ({ agentId, delayMs: 0 }));
    const queue = queueOf(engine, this.#settings);
    if (queue === undefined) return after;
    const previous = this.#last.get(queue);
    this.#previous = previous;
    this.#last.set(queue, agentId);
    const { sequentialDelayMs: delayMs } = this.#settings;
    if (previous !== undefined) after.push({ agentId: previous, delayMs });
    return after;
  }

  /** Removes a member that was not started. */
  release({ agentId, engine, chat }: InTurn): void {
    if (chat) releaseTurn(engine.name, chat.id, agentId, this.#store);
    this.pass({ agentId, engine });
  }

  /** Skips the latest member, which failed at once. */
  pass({ agentId, engine }: Pick<InTurn, 'agentId' | 'engine'>): void {
    const queue = queueOf(engine, this.#settings);
    if (queue === undefined || this.#last.get(queue) !== agentId) return;
    if (this.#previous === undefined) this.#last.delete(queue);
    else this.#last.set(queue, this.#previous);
  }
}

function queueOf(
  engine: Engine,
  { executionMode }: TurnSettings
): string | undefined {
  if (executionMode !== undefined)
    return executionMode === 'sequential' ? 'all' : undefined;
  const isAlone = engine.kind === 'cli' && engine.oneAtATime === true;
  return isAlone ? engine.name : undefined;
}
