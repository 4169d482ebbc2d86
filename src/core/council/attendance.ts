import { noCouncil, wasReplaced } from './errors.ts';
import { nameFor } from './names.ts';
import { isSameOwner, type OwnerWitnesses } from './owner.ts';
import type { CouncilState, Former, Participant, Session } from './state.ts';

/** A state in which somebody takes part. */
export interface Entered {
  state: CouncilState;
  session: Session;
  participant: Participant;
}

/**
 * `join` takes part in whatever there is now; `write` never in another
 * session than the one its words are meant for; `read` says once that the
 * session is another one.
 */
export type Entrance = 'join' | 'read' | 'write';

/** Of those who took part before, so many are remembered. */
const mostFormer = 1000;

/** Who the agents of this process, or of one of its clients, are there. */
export class Attendance {
  readonly #witnesses: OwnerWitnesses;
  /** The names that they were given for those that they asked for. */
  readonly #names = new Map<string, string>();
  /** Who was told of which session that it took the place of theirs. */
  readonly #told = new Map<string, string>();

  constructor(witnesses: OwnerWitnesses) {
    this.#witnesses = witnesses;
  }

  /** Its name, which is `name#2` when `name` is another server's. */
  nameOf(asked: string, state: CouncilState): string {
    const known = this.#names.get(asked) ?? asked;
    const name = nameFor(known, state, this.#witnesses);
    this.#names.set(asked, name);
    return name;
  }

  /** Somebody who has seen nothing yet. */
  newcomer(agent_name: string, last_seen: string): Participant {
    return {
      agent_name,
      last_seen,
      last_request_seen: null,
      last_feedback_seen: null,
      owner: this.#witnesses.self
    };
  }

  /**
   * Takes part, seen now.
   * @throws HostError `no_council`, `session_replaced`
   */
  enter(
    state: CouncilState,
    asked: string,
    how: Entrance,
    now: string
  ): Entered {
    const { session } = state;
    if (!session) throw noCouncil();
    const name = this.nameOf(asked, state);
    const known = state.participants.find(
      ({ agent_name }) => agent_name === name
    );
    if (!known) this.#warn(name, state, session, how);
    const participant: Participant = {
      ...(known ?? this.newcomer(name, now)),
      last_seen: now,
      owner: this.#witnesses.self
    };
    return { state: seated(state, participant), session, participant };
  }

  /** Words for an earlier request are not filed under this one. */
  #warn(
    name: string,
    { former_participants: formers = [] }: CouncilState,
    session: Session,
    how: Entrance
  ): void {
    const former = formers.find(({ agent_name }) => agent_name === name);
    if (!former || how === 'join') return;
    const { self } = this.#witnesses;
    const isOurs = former.owner && isSameOwner(former.owner, self);
    const isNews = this.#told.get(name) !== session.id;
    if (how === 'read' && !(isOurs && isNews)) return;
    this.#told.set(name, session.id);
    throw wasReplaced(name, former, session);
  }
}

/** A state with a participant as it is now. */
export function seated(
  state: CouncilState,
  participant: Participant
): CouncilState {
  const { agent_name: name } = participant;
  const isOther = (other: { agent_name: string }) => other.agent_name !== name;
  return {
    ...state,
    participants: state.participants.every(isOther)
      ? [...state.participants, participant]
      : state.participants.map((other) =>
          isOther(other) ? other : participant
        ),
    ...(state.former_participants
      ? { former_participants: state.former_participants.filter(isOther) }
      : {})
  };
}

/** Who is to be told, if he comes, that the session is another one. */
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
