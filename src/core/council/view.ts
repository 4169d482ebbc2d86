import { HostError } from '../errors.ts';
import { isSameProcess, type ProcessIdentity } from '../runs/run.ts';
import { unknownCursor } from './errors.ts';
import type { OwnerWitnesses } from './owner.ts';
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

/** What a participant is to be told, before it is cut to size. */
export interface View {
  agentName: string;
  session: Session;
  request: Request;
  /** The participant was given the request before this. */
  knowsRequest: boolean;
  /** Those after the cursor, in the order in which they were recorded. */
  responses: Response[];
  /** The id of the last response before them; null before the first. */
  cursor: string | null;
  participants: Participant[];
  /** How many responses each participant has given. */
  counts: Map<string, number>;
  summons: Awaited[];
}

/** An agent that was summoned, as far as can be said here. */
export interface Awaited {
  agent_id: string;
  agent_name: string;
  engine: string;
  status: Summon['status'] | 'unknown';
  error?: string | undefined;
  error_code?: string | undefined;
}

/** The view of a participant, from a cursor on. */
export function viewOf(
  state: CouncilState,
  session: Session,
  participant: Participant,
  cursor: string | null,
  witnesses: OwnerWitnesses
): View {
  const request = requestOf(state);
  if (!request)
    throw new HostError(
      'state_invalid',
      `The council ${session.id} has no request ${session.current_request_id}.`,
      'Somebody changed its file by hand. Mend it, or call start_council.'
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
    summons: summonsFor(state, witnesses)
  };
}

/** @throws HostError `unknown_cursor` */
function after(
  responses: Response[],
  cursor: string | null,
  session: Session
): Response[] {
  if (cursor === null) return responses;
  // Who polls has seen nearly all of them.
  const index = responses.findLastIndex(({ id }) => id === cursor);
  if (index < 0) throw unknownCursor(cursor, session);
  return responses.slice(index + 1);
}

/** Who is still awaited, for everyone; who failed, for who summoned it. */
function summonsFor(
  { summons = [] }: CouncilState,
  { self, liveness }: OwnerWitnesses
): Awaited[] {
  const looked = new Map<string, boolean>();
  const isGone = (owner: ProcessIdentity) => {
    const key = `${owner.pid} ${owner.start} ${owner.place}`;
    const isDead = looked.get(key) ?? liveness(owner) === 'dead';
    looked.set(key, isDead);
    return isDead;
  };
  return summons.flatMap((summon): Awaited[] => {
    const { status, owner, workspace } = summon;
    if (status === 'completed') return [];
    if (isSameProcess(owner, self)) return [summon];
    const isLeft = isGone(owner);
    if (status === 'failed') return isLeft ? [summon] : [];
    const error = `The server that summoned it is gone; another one in ${workspace} records its response.`;
    return isLeft
      ? [{ ...summon, status: 'unknown' as const, error }]
      : [summon];
  });
}
