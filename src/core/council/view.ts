import { HostError } from '../errors.ts';
import {
  isSameProcess,
  type ProcessIdentity
} from '../processes/process-identity.ts';
import type { OwnerLiveness } from './council-store.ts';
import { unknownCursor } from './errors.ts';
import {
  type CouncilState,
  type Participant,
  type Request,
  type Response,
  requestOf,
  responsesOf,
  type Session,
  type Summon
} from './state.ts';

/** The council as one participant sees it, before truncation. */
export interface View {
  agentName: string;
  session: Session;
  request: Request;
  /** True if the participant has already received the request. */
  knowsRequest: boolean;
  /** The responses after the cursor, in the order of recording. */
  responses: Response[];
  /** The id of the response before `responses`; null before the first. */
  cursor: string | null;
  participants: Participant[];
  /** Author → number of responses to the request. */
  counts: Map<string, number>;
  summons: Awaited[];
}

/** A summoned agent, with its status as this process sees it. */
export interface Awaited {
  agent_id: string;
  agent_name: string;
  engine: string;
  /** `unknown`: its server is gone; `late`: its council was replaced. */
  status: Summon['status'] | 'unknown' | 'late';
  /** For a late agent: the council that it was summoned to. */
  session_id?: string | undefined;
  error?: string | undefined;
  error_code?: string | undefined;
}

/**
 * Builds the view of a participant after a cursor.
 * @throws HostError `unknown_cursor`, `state_invalid`
 */
export function viewOf(
  state: CouncilState,
  session: Session,
  participant: Participant,
  cursor: string | null,
  owners: OwnerLiveness
): View {
  const request = requestOf(state);
  if (!request)
    throw new HostError(
      'state_invalid',
      `The council ${session.id} has no request ${session.current_request_id}.`,
      'Its file was changed by hand. Repair it, or start another council.'
    );
  const all = responsesOf(state);
  const counts = new Map<string, number>();
  for (const { author } of all)
    counts.set(author, (counts.get(author) ?? 0) + 1);
  return {
    agentName: participant.agent_name,
    session,
    request,
    knowsRequest: participant.last_request_seen === request.id,
    responses: after(all, cursor, session),
    cursor,
    participants: state.participants,
    counts,
    summons: summonsFor(state, session, owners)
  };
}

/** @throws HostError `unknown_cursor` */
function after(
  responses: Response[],
  cursor: string | null,
  session: Session
): Response[] {
  if (cursor === null) return responses;
  // Searches from the end, because most callers have read nearly all.
  const index = responses.findLastIndex(({ id }) => id === cursor);
  if (index < 0) throw unknownCursor(cursor, session);
  return responses.slice(index + 1);
}

/**
 * All participants see running agents. Only the agents of the summoning server
 * see agents that failed or were summoned to an earlier council. If that server
 * is gone, all participants see its failed agents.
 */
function summonsFor(
  { summons = [] }: CouncilState,
  session: Session,
  { self, liveness }: OwnerLiveness
): Awaited[] {
  const cache = new Map<string, boolean>();
  const isGone = (owner: ProcessIdentity) => {
    const key = `${owner.pid} ${owner.start} ${owner.place}`;
    const isDead = cache.get(key) ?? liveness(owner) === 'dead';
    cache.set(key, isDead);
    return isDead;
  };
  return summons.flatMap(({ session_id, ...summon }): Awaited[] => {
    const { status, owner, workspace } = summon;
    if (status === 'completed') return [];
    const isOurs = isSameProcess(owner, self);
    if (session_id !== session.id)
      return isOurs ? [{ ...summon, ...late, session_id }] : [];
    if (isOurs) return [summon];
    const isAbandoned = isGone(owner);
    if (status === 'failed') return isAbandoned ? [summon] : [];
    const error = `The server that summoned it is gone; another one in ${workspace} records its response.`;
    return isAbandoned
      ? [{ ...summon, status: 'unknown' as const, error }]
      : [summon];
  });
}

const late = {
  status: 'late' as const,
  error:
    'It was summoned to a council that is closed: result has its answer once it has ended.',
  error_code: 'council_closed'
};

/** Records which failed and late agents were reported to which agent. */
export class ReportedFailures {
  readonly #reported = new Map<string, Set<string>>();

  /** Whether a view has a failure that was not reported to its agent yet. */
  areNewIn({ agentName, summons }: View): boolean {
    const reported = this.#reported.get(agentName);
    return summons.some(
      ({ agent_id, status }) => status === 'failed' && !reported?.has(agent_id)
    );
  }

  /** Returns a view without late agents that were reported before. */
  withoutOld(view: View): View {
    const reported = this.#reported.get(view.agentName);
    const summons = view.summons.filter(
      ({ agent_id, status }) => status !== 'late' || !reported?.has(agent_id)
    );
    return { ...view, summons };
  }

  /** Records that the agent of a view has received it. */
  note({ agentName, summons }: View): void {
    const over = summons.filter(
      ({ status }) => status === 'failed' || status === 'late'
    );
    // A summoned agent that has left the view never reappears.
    if (over.length === 0) this.#reported.delete(agentName);
    else
      this.#reported.set(agentName, new Set(over.map((one) => one.agent_id)));
  }
}
