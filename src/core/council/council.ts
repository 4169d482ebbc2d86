import { randomUUID } from 'node:crypto';
import {
  Attendance,
  type Entered,
  type EntryMode,
  formersAfter,
  withParticipant
} from './attendance.ts';
import {
  type Change,
  type CouncilStore,
  isSameOwner,
  type OwnerLiveness
} from './council-store.ts';
import { isClosed, wasReplaced } from './errors.ts';
import {
  type CouncilState,
  participantIn,
  type Response,
  responsesOf,
  type Session
} from './state.ts';
import { ReportedFailures, type View, viewOf } from './view.ts';

export interface CouncilDependencies {
  store: CouncilStore;
  witnesses: OwnerLiveness;
  /** Whether a person responds, and no agent. */
  isForPerson?: boolean;
}

/**
 * Formats a view to fit the limits of an answer. `cursor` is where the next
 * answer starts: the id of the last response included so far, or null.
 */
export type FormatView<Answer> = (view: View) => {
  answer: Answer;
  cursor: string | null;
};

export interface FormattedView<Answer> {
  answer: Answer;
  /** Call this once the client has received the answer. */
  markRead: () => Promise<void>;
}

/** A cursor, and the session that it belongs to. */
export interface SessionCursor {
  session_id: string;
  cursor: string | null;
}

export interface Started {
  agentName: string;
  session: Session;
  /** The session that was replaced, and the path of its file in `history/`. */
  previous: { session: Session; file: string } | undefined;
}

export interface Sent {
  agentName: string;
  session: Session;
  response: Response;
  /** Whether the response was recorded before. */
  isKnown: boolean;
  responses: number;
  participants: number;
}

export interface Closed {
  agentName: string;
  session: Session;
}

/**
 * The council, for the agents of this process or of one of its clients. Every
 * call names its agent. Every call except `peek` is one change of the state.
 */
export class Council {
  readonly reportedFailures = new ReportedFailures();
  readonly #store: CouncilStore;
  readonly #owners: OwnerLiveness;
  readonly #isForPerson: boolean;
  readonly #attendance: Attendance;

  constructor({ store, witnesses, isForPerson = false }: CouncilDependencies) {
    this.#store = store;
    this.#owners = witnesses;
    this.#isForPerson = isForPerson;
    this.#attendance = new Attendance(witnesses, isForPerson);
  }

  /** Opens a session, and saves the previous one in `history/`. */
  start(requested: string, content: string): Promise<Started> {
    return this.#store.change((state) => {
      const name = this.#attendance.nameOf(requested, state);
      const created_at = now();
      const [id, requestId] = [randomUUID(), randomUUID()];
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
        result: { agentName: name, session, previous },
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

  /**
   * Enters the session, and reads all responses.
   * @throws HostError `no_council`
   */
  join<Answer>(
    requested: string,
    format: FormatView<Answer>
  ): Promise<FormattedView<Answer>> {
    return this.#store.change((state) =>
      this.#format(this.#enter(state, requested, 'join'), null, format)
    );
  }

  /**
   * Reads the responses after a cursor; null: all responses.
   * @throws HostError `unknown_cursor`, `session_replaced`, `no_council`
   */
  read<Answer>(
    requested: string,
    cursor: string | null,
    format: FormatView<Answer>
  ): Promise<FormattedView<Answer>> {
    return this.#store.change((state) =>
      this.#format(this.#enter(state, requested, 'read'), cursor, format)
    );
  }

  /**
   * Like `read`, but returns the unformatted view if it fails `isWanted`. With
   * null, the view starts after the last response that the agent has read.
   */
  readIf<Answer>(
    requested: string,
    from: SessionCursor | string | null,
    isWanted: (view: View) => boolean,
    format: FormatView<Answer>
  ): Promise<FormattedView<Answer> | { view: View }> {
    return this.#store.change<FormattedView<Answer> | { view: View }>(
      (before) => {
        const entered = this.#enter(before, requested, 'read');
        const cursor = cursorIn(from, requested, entered);
        const view = this.#view(entered, cursor);
        return isWanted(view)
          ? this.#format(entered, cursor, format)
          : { state: entered.state, result: { view } };
      }
    );
  }

  /**
   * Reads the current view of a participant without a write. Undefined once
   * the session was replaced.
   */
  peek({ agentName, cursor, session: { id } }: View): View | undefined {
    const state = this.#store.read();
    const participant = participantIn(state, agentName);
    const { session } = state;
    return session?.id === id && participant
      ? this.#view({ state, session, participant }, cursor)
      : undefined;
  }

  /**
   * Records a response to the open request. A response whose id is known is
   * the same one, sent again: it stays as it is.
   * @throws HostError `council_closed`, `session_replaced`, `no_council`
   */
  send(requested: string, content: string, id?: string): Promise<Sent> {
    return this.#store.change((before) => {
      const { state, session, participant } = this.#enterToWrite(
        before,
        requested
      );
      const known =
        id === undefined
          ? undefined
          : responsesOf(state).find((one) => one.id === id);
      const response: Response = known ?? {
        id: id ?? randomUUID(),
        request_id: session.current_request_id,
        author: participant.agent_name,
        content,
        created_at: now(),
        ...(this.#isForPerson ? { by: 'person' as const } : {})
      };
      const after = known
        ? state
        : { ...state, feedback: [...state.feedback, response] };
      return {
        state: after,
        result: {
          agentName: participant.agent_name,
          session,
          response,
          isKnown: known !== undefined,
          responses: responsesOf(after).length,
          participants: after.participants.length
        }
      };
    });
  }

  /** @throws HostError `council_closed`, `session_replaced`, `no_council` */
  close(requested: string, content: string): Promise<Closed> {
    return this.#store.change((before) => {
      const { state, session, participant } = this.#enterToWrite(
        before,
        requested
      );
      const { agent_name: author } = participant;
      const closed: Session = {
        ...session,
        status: 'closed',
        conclusion: { author, content, created_at: now() }
      };
      const requests = state.requests.map((request) =>
        request.id === session.current_request_id
          ? { ...request, status: 'closed' as const }
          : request
      );
      return {
        result: { agentName: author, session: closed },
        state: { ...state, session: closed, requests }
      };
    });
  }

  #enter(state: CouncilState, requested: string, mode: EntryMode): Entered {
    return this.#attendance.enter(state, requested, mode, now());
  }

  #enterToWrite(state: CouncilState, requested: string): Entered {
    const entered = this.#enter(state, requested, 'write');
    if (entered.session.status === 'closed') throw isClosed(entered.session);
    return entered;
  }

  #view({ state, session, participant }: Entered, cursor: string | null): View {
    return viewOf(state, session, participant, cursor, this.#owners);
  }

  #format<Answer>(
    entered: Entered,
    cursor: string | null,
    format: FormatView<Answer>
  ): Change<FormattedView<Answer>> {
    const view = this.#view(entered, cursor);
    const { answer, cursor: last } = format(
      this.reportedFailures.withoutOld(view)
    );
    const markRead = () => this.#noteRead(view, last);
    return { result: { answer, markRead }, state: entered.state };
  }

  /** Changes nothing if the session or the name's owner has changed since. */
  #noteRead(view: View, last_feedback_seen: string | null): Promise<void> {
    this.reportedFailures.note(view);
    const { agentName, session, request } = view;
    const { self } = this.#owners;
    return this.#store.change((state) => {
      const known = participantIn(state, agentName);
      const isOurs =
        state.session?.id === session.id &&
        known?.owner &&
        isSameOwner(known.owner, self);
      if (
        !isOurs ||
        (known.last_request_seen === request.id &&
          known.last_feedback_seen === last_feedback_seen)
      )
        return { state, result: undefined };
      const last_request_seen = request.id;
      const participant = { ...known, last_request_seen, last_feedback_seen };
      return { state: withParticipant(state, participant), result: undefined };
    });
  }
}

/** @throws HostError `session_replaced` */
function cursorIn(
  from: SessionCursor | string | null,
  requested: string,
  { session, participant }: Entered
): string | null {
  if (from === null) return participant.last_feedback_seen;
  if (typeof from === 'string') return from;
  if (from.session_id === session.id) return from.cursor;
  throw wasReplaced(requested, from, session);
}

function now(): string {
  return new Date().toISOString();
}
