import { HostError } from '../errors.ts';
import type { Former, Session } from './state.ts';

export function noCouncil(): HostError {
  return new HostError(
    'no_council',
    'No council has been started.',
    'Start one with your request.'
  );
}

export function isClosed({ id, conclusion }: Session): HostError {
  const by = conclusion ? ` by ${conclusion.author}` : '';
  return new HostError(
    'council_closed',
    `The council ${id} was closed${by}.`,
    'Nothing was recorded. Read its conclusion, or start another council.'
  );
}

export function wasReplaced(
  name: string,
  former: Pick<Former, 'session_id'>,
  session: Session
): HostError {
  return new HostError(
    'session_replaced',
    `${name} took part in the council ${former.session_id}; since then another one was started, ${session.id}, with another request.`,
    'Nothing was recorded. Join the council to read that request and take part; the earlier one is kept in history/.'
  );
}

export function isAnother(asked: string, session: Session): HostError {
  return new HostError(
    'session_replaced',
    `The council ${asked} was replaced by another one, ${session.id}.`,
    'Nothing was done. Read the request of that one first.'
  );
}

export function unknownCursor(cursor: string, session: Session): HostError {
  return new HostError(
    'unknown_cursor',
    `The council ${session.id} has no response "${cursor.slice(0, 60)}"; it may be of an earlier council.`,
    'Give next_cursor of your last answer, or none to begin with the first response.'
  );
}
