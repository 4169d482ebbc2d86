import { isSameOwner, type OwnerLiveness } from './council-store.ts';
import { noCouncil, wasReplaced } from './errors.ts';
import { checkAgentName } from './person.ts';
import {
  type CouncilState,
  type Former,
  type Participant,
  participantIn,
  type Session
} from './state.ts';

/** The state after an agent entered the session, and its entry in there. */
export interface Entered {
  state: CouncilState;
  session: Session;
  participant: Participant;
}

/**
 * How a call enters a session if its agent took part in an earlier one. `join`
 * always enters. `read` fails once if the agent took part through this server.
 * `write` fails until the agent has entered by another call.
 */
export type EntryMode = 'join' | 'read' | 'write';

/** Limit of stored former participants; the oldest are dropped. */
const mostFormer = 1000;

/** Enters the agents of this process, or of one of its clients, in sessions. */
export class Attendance {
  readonly #owners: OwnerLiveness;
  readonly #isForPerson: boolean;
  /** Requested name → the name that was assigned. */
  readonly #names = new Map<string, string>();
  /** Name → id of the session in the last `session_replaced` for its agent. */
  readonly #informed = new Map<string, string>();

  constructor(owners: OwnerLiveness, isForPerson = false) {
    this.#owners = owners;
    this.#isForPerson = isForPerson;
  }

  /**
   * The agent's name: `name#2` if another server or client owns `name`.
   * @throws HostError `invalid_input` for the name of a person
   */
  nameOf(requested: string, state: CouncilState): string {
    if (!this.#isForPerson) checkAgentName(requested);
    const known = this.#names.get(requested) ?? requested;
    const name = nameFor(known, state, this.#owners);
    this.#names.set(requested, name);
    return name;
  }

  /** A participant that has seen nothing yet. */
  newcomer(agent_name: string, last_seen: string): Participant {
    return {
      agent_name,
      last_seen,
      last_request_seen: null,
      last_feedback_seen: null,
      owner: this.#owners.self
    };
  }

  /**
   * Adds the agent to the session, or updates its `last_seen`.
   * @throws HostError `no_council`, `session_replaced`
   */
  enter(
    state: CouncilState,
    requested: string,
    mode: EntryMode,
    now: string
  ): Entered {
    const { session } = state;
    if (!session) throw noCouncil();
    const name = this.nameOf(requested, state);
    const known = participantIn(state, name);
    if (!known) this.#checkSession(name, state, session, mode);
    const participant: Participant = {
      ...(known ?? this.newcomer(name, now)),
      last_seen: now,
      owner: this.#owners.self
    };
    return { state: withParticipant(state, participant), session, participant };
  }

  /**
   * Keeps a response to an earlier request from being recorded under this one.
   * @throws HostError `session_replaced`
   */
  #checkSession(
    name: string,
    { former_participants: formers = [] }: CouncilState,
    session: Session,
    mode: EntryMode
  ): void {
    const former = formers.find(({ agent_name }) => agent_name === name);
    if (!former || mode === 'join') return;
    const { self } = this.#owners;
    const isOurs = former.owner && isSameOwner(former.owner, self);
    const isNews = this.#informed.get(name) !== session.id;
    if (mode === 'read' && !(isOurs && isNews)) return;
    this.#informed.set(name, session.id);
    throw wasReplaced(name, former, session);
  }
}

/** Returns the state with a participant added or replaced. */
export function withParticipant(
  state: CouncilState,
  participant: Participant
): CouncilState {
  const { agent_name: name } = participant;
  const { participants, former_participants: formers } = state;
  const isOther = (other: { agent_name: string }) => other.agent_name !== name;
  return {
    ...state,
    participants: participants.every(isOther)
      ? [...participants, participant]
      : participants.map((other) => (isOther(other) ? other : participant)),
    ...(formers ? { former_participants: formers.filter(isOther) } : {})
  };
}

/** The participants of earlier sessions, as the next session stores them. */
export function formersAfter(
  { session, participants, former_participants = [] }: CouncilState,
  starter: string
): Former[] {
  const latest = new Map(
    former_participants.map((former) => [former.agent_name, former])
  );
  for (const { agent_name, agent_id, owner } of participants)
    if (session && agent_id === undefined)
      latest.set(agent_name, {
        agent_name,
        session_id: session.id,
        ...(owner ? { owner } : {})
      });
  latest.delete(starter);
  return [...latest.values()].slice(-mostFormer);
}

/**
 * The name of a server's agent in the council. A name belongs to the server
 * that first used it for as long as that server lives, and within a server to
 * one client. The agent of another server or client gets `name#2`, and so on.
 */
export function nameFor(
  requested: string,
  state: CouncilState,
  { self, liveness }: OwnerLiveness
): string {
  return firstFree(requested, (name) => {
    const holder = holderOf(name, state);
    if (!holder) return true;
    // The name of a summoned agent is never shared.
    if (holder.agent_id !== undefined) return false;
    const { owner } = holder;
    return !owner || isSameOwner(owner, self) || liveness(owner) === 'dead';
  });
}

/** A name that no participant, former participant or summoned agent has. */
export function unusedName(requested: string, state: CouncilState): string {
  const summoned = state.summons?.map(({ agent_name }) => agent_name);
  return firstFree(
    requested,
    (name) => !summoned?.includes(name) && !holderOf(name, state)
  );
}

function holderOf(
  name: string,
  state: CouncilState
): Participant | Former | undefined {
  return (
    participantIn(state, name) ??
    state.former_participants?.find(({ agent_name }) => agent_name === name)
  );
}

function firstFree(
  requested: string,
  isFree: (name: string) => boolean
): string {
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? requested : `${requested}#${number}`;
    if (isFree(name)) return name;
  }
}
