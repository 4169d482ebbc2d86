import { z } from 'zod';
import { lazy } from '../lazy.ts';
import { type CouncilState, emptyState, stateSchema } from './state.ts';

/**
 * The schemas of the published `agents-council`: the same data in camelCase,
 * with several sessions in version 2. Tried only if our own schema fails.
 */
const versions = lazy(() => {
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
  /** The other sessions, in the order of the file. */
  others: CouncilState[];
  from: 'v1' | 'v2';
}

/** Returns undefined for another schema, or if a session is incomplete. */
export function convertPublished(value: unknown): Converted | undefined {
  const first = versions().first.safeParse(value).data;
  if (first) {
    const state = stateSchema().safeParse(inOurNames(first)).data;
    return state && { state, others: [], from: 'v1' };
  }
  const second = versions().second.safeParse(value).data;
  return second && convertSecond(second);
}

function convertSecond({
  version,
  activeSessionId,
  sessions,
  requests,
  feedback,
  participants,
  ...extra
}: Second): Converted | undefined {
  const states = sessions.map((session) => {
    const isInSession = (entry: Record<string, unknown>) =>
      entry.sessionId === session.id;
    return stateSchema().safeParse(
      inOurNames({
        ...emptyState,
        session,
        requests: requests.filter(isInSession),
        feedback: feedback.filter(isInSession),
        participants: participants.filter(isInSession),
        ...(session.id === activeSessionId ? extra : {})
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

/** Converts all keys to snake_case, and keeps the values. */
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
