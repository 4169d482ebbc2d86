import { z } from 'zod';
import { lazily } from '../lazily.ts';
import { type CouncilState, emptyState, stateSchema } from './state.ts';

/**
 * The files of the published `agents-council`: the same things in camelCase;
 * its version 2 holds several sessions. Looked at only where our own schema
 * does not fit.
 */
const versions = lazily(() => {
  const entries = z.array(z.looseObject({}));
  return {
    first: z.looseObject({
      version: z.literal(1),
      session: z.looseObject({}).nullable(),
      requests: entries,
      feedback: entries,
      participants: entries
    }),
    second: z.looseObject({
      version: z.literal(2),
      activeSessionId: z.string().nullable(),
      sessions: z.array(z.looseObject({ id: z.string() })),
      requests: entries,
      feedback: entries,
      participants: entries
    })
  };
});

type Second = z.output<ReturnType<typeof versions>['second']>;

export interface Converted {
  state: CouncilState;
  /** Sessions that were there beside the active one, oldest first. */
  others: CouncilState[];
  /** The version of the file that it was. */
  from: 'v1' | 'v2';
}

/** Undefined when it is no such file, or lacks what a session needs. */
export function convertPublished(value: unknown): Converted | undefined {
  const first = versions().first.safeParse(value).data;
  if (first) {
    const state = stateSchema().safeParse(inOurNames(first)).data;
    return state && { state, others: [], from: 'v1' };
  }
  const second = versions().second.safeParse(value).data;
  return second && convertSecond(second);
}

function convertSecond(file: Second): Converted | undefined {
  const { activeSessionId, sessions, requests, feedback, participants } = file;
  const { version, ...rest } = file;
  const known = [
    'activeSessionId',
    'sessions',
    'requests',
    'feedback',
    'participants'
  ];
  const extra = Object.entries(rest).filter(([key]) => !known.includes(key));
  const states = sessions.map((session) => {
    const isOfIt = (entry: Record<string, unknown>) =>
      entry.sessionId === session.id;
    return stateSchema().safeParse(
      inOurNames({
        ...emptyState,
        session,
        requests: requests.filter(isOfIt),
        feedback: feedback.filter(isOfIt),
        participants: participants.filter(isOfIt),
        ...(session.id === activeSessionId ? Object.fromEntries(extra) : {})
      })
    ).data;
  });
  const all = states.filter((state) => state !== undefined);
  if (all.length < states.length) return undefined;
  const isActive = ({ session }: CouncilState) =>
    session?.id === activeSessionId;
  return {
    state: all.find(isActive) ?? emptyState,
    others: all.filter((state) => !isActive(state)),
    from: 'v2'
  };
}

/** Every key in the names of the wire; the words are left alone. */
function inOurNames(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOurNames);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      inOurNames(inner)
    ])
  );
}
