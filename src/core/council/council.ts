import { randomUUID } from 'node:crypto';
import {
  Attendance,
  type Entered,
  type Entrance,
  formersAfter,
  seated
} from './attendance.ts';
import type { Change, CouncilStore } from './council-store.ts';
import { isClosed } from './errors.ts';
import type { OwnerWitnesses } from './owner.ts';
import {
  type CouncilState,
  type Response,
  responsesOf,
  type Session
} from './state.ts';
import { ToldFailures } from './told-failures.ts';
import { type View, viewOf } from './view.ts';

export interface CouncilDependencies {
  store: CouncilStore;
  witnesses: OwnerWitnesses;
  now?: () => string;
  newId?: () => string;
}

/**
 * Cuts a view to what there is room for. `last` is the id of the response
 * that is told last; null when none has been told so far.
 */
export type Tell<Told> = (view: View) => { told: Told; last: string | null };

export interface Started {
  agentName: string;
  session: Session;
  /** The session before it, and the file that keeps it. */
  previous: { session: Session; file: string } | undefined;
}

export interface Sent {
  agentName: string;
  session: Session;
  response: Response;
  responses: number;
  participants: number;
}

export interface Closed {
  agentName: string;
  session: Session;
}

/**
 * One shared discussion, as the agents of this process, or of one of its
 * clients, take part in it. Every call says under which name; each is one change of the shared state.
 */
export class Council {
  readonly toldFailures = new ToldFailures();
  readonly #store: CouncilStore;
  readonly #witnesses: OwnerWitnesses;
  readonly #attendance: Attendance;
  readonly #now: () => string;
  readonly #newId: () => string;

  constructor({ store, witnesses, now, newId }: CouncilDependencies) {
    this.#store = store;
    this.#witnesses = witnesses;
    this.#attendance = new Attendance(witnesses);
    this.#now = now ?? (() => new Date().toISOString());
    this.#newId = newId ?? randomUUID;
  }

  /** Opens a session; the one before is kept whole in `history/`. */
  start(asked: string, content: string): Promise<Started> {
    return this.#store.change((state) => {
      const name = this.#attendance.nameOf(asked, state);
      const created_at = this.#now();
      const [id, requestId] = [this.#newId(), this.#newId()];
      const session: Session = {
        id,
        status: 'active',
        created_at,
        current_request_id: requestId,
        conclusion: null
      };
      const starter = this.#attendance.newcomer(name, created_at);
      const previous = state.session
        ? { session: state.session, file: this.#store.file.archive(state) }
        : undefined;
      return {
        told: { agentName: name, session, previous },
        state: {
          ...state,
          session,
          requests: [
            {
              id: requestId,
              content,
              created_by: name,
              created_at,
              status: 'open'
            }
          ],
          feedback: [],
          participants: [{ ...starter, last_request_seen: requestId }],
          former_participants: formersAfter(state, name),
          summons: (state.summons ?? []).filter(
            ({ status }) => status === 'running'
          )
        }
      };
    });
  }

  /** The whole discussion, for whoever comes. @throws HostError `no_council` */
  join<Told>(asked: string, tell: Tell<Told>): Promise<Told> {
    return this.#store.change((state) =>
      this.#tell(this.#enter(state, asked, 'join'), null, tell)
    );
  }

  /**
   * The discussion from a cursor on, or from its beginning.
   * @throws HostError `unknown_cursor`, `session_replaced`, `no_council`
   */
  read<Told>(
    asked: string,
    cursor: string | null,
    tell: Tell<Told>
  ): Promise<Told> {
    return this.#store.change((state) =>
      this.#tell(this.#enter(state, asked, 'read'), cursor, tell)
    );
  }

  /**
   * The same if it is worth telling; else nothing counts as told. Without a
   * cursor, from what was told last.
   */
  readIf<Told>(
    asked: string,
    cursor: string | null,
    isWorthTelling: (view: View) => boolean,
    tell: Tell<Told>
  ): Promise<{ told: Told } | { view: View }> {
    return this.#store.change<{ told: Told } | { view: View }>((before) => {
      const entered = this.#enter(before, asked, 'read');
      const from = cursor ?? entered.participant.last_feedback_seen;
      const view = this.#view(entered, from);
      if (!isWorthTelling(view))
        return { state: entered.state, told: { view } };
      const { state, told } = this.#tell(entered, from, tell);
      return { state, told: { told } };
    });
  }

  /** What one who takes part would be told now; nothing counts as told. */
  peek({ agentName, cursor, session: { id } }: View): View | undefined {
    const state = this.#store.read();
    const participant = state.participants.find(
      ({ agent_name }) => agent_name === agentName
    );
    const { session } = state;
    return session?.id === id && participant
      ? this.#view({ state, session, participant }, cursor)
      : undefined;
  }

  /**
   * Records a response to the open request.
   * @throws HostError `council_closed`, `session_replaced`, `no_council`
   */
  send(asked: string, content: string): Promise<Sent> {
    return this.#store.change((before) => {
      const { state, session, participant } = this.#speak(before, asked);
      const response: Response = {
        id: this.#newId(),
        request_id: session.current_request_id,
        author: participant.agent_name,
        content,
        created_at: this.#now()
      };
      const after = { ...state, feedback: [...state.feedback, response] };
      return {
        state: after,
        told: {
          agentName: participant.agent_name,
          session,
          response,
          responses: responsesOf(after).length,
          participants: after.participants.length
        }
      };
    });
  }

  /** @throws HostError `council_closed`, `session_replaced`, `no_council` */
  close(asked: string, content: string): Promise<Closed> {
    return this.#store.change((before) => {
      const { state, session, participant } = this.#speak(before, asked);
      const { agent_name: author } = participant;
      const closed: Session = {
        ...session,
        status: 'closed',
        conclusion: { author, content, created_at: this.#now() }
      };
      const requests = state.requests.map((request) =>
        request.id === session.current_request_id
          ? { ...request, status: 'closed' as const }
          : request
      );
      return {
        told: { agentName: author, session: closed },
        state: { ...state, session: closed, requests }
      };
    });
  }

  #enter(state: CouncilState, asked: string, how: Entrance): Entered {
    return this.#attendance.enter(state, asked, how, this.#now());
  }

  #speak(state: CouncilState, asked: string): Entered {
    const entered = this.#enter(state, asked, 'write');
    if (entered.session.status === 'closed') throw isClosed(entered.session);
    return entered;
  }

  #view({ state, session, participant }: Entered, cursor: string | null): View {
    return viewOf(state, session, participant, cursor, this.#witnesses);
  }

  /** What is told counts as seen. */
  #tell<Told>(
    entered: Entered,
    cursor: string | null,
    tell: Tell<Told>
  ): Change<Told> {
    const view = this.#view(entered, cursor);
    const { told, last } = tell(view);
    this.toldFailures.note(view);
    const participant = {
      ...entered.participant,
      last_request_seen: view.request.id,
      last_feedback_seen: last
    };
    return { told, state: seated(entered.state, participant) };
  }
}
