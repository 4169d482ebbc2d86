import { z } from 'zod';
import { lazily } from '../lazily.ts';

/**
 * The council's file: version 1 of its schema, in the names of the wire. Keys
 * that we do not know are kept as they are, everywhere.
 */
export const stateSchema = lazily(() => {
  const time = z.string();
  const id = z.string().min(1);
  const name = z.string().min(1);

  /** A server process: what speaks for a participant. */
  const ownerSchema = z.object({
    pid: z.number(),
    start: z.string(),
    place: z.string(),
    /** Which of its clients, where it has several. */
    session: z.string().optional()
  });

  const conclusionSchema = z.looseObject({
    author: name,
    content: z.string(),
    created_at: time
  });

  const sessionSchema = z.looseObject({
    id,
    status: z.enum(['active', 'closed']),
    created_at: time,
    current_request_id: id,
    conclusion: conclusionSchema.nullable()
  });

  const requestSchema = z.looseObject({
    id,
    content: z.string(),
    created_by: name,
    created_at: time,
    status: z.enum(['open', 'closed'])
  });

  const responseSchema = z.looseObject({
    id,
    request_id: id,
    author: name,
    content: z.string(),
    created_at: time
  });

  const participantSchema = z.looseObject({
    agent_name: name,
    last_seen: time,
    last_request_seen: id.nullable(),
    last_feedback_seen: id.nullable(),
    /** The server that the name belongs to while it lives. */
    owner: ownerSchema.optional(),
    /** An agent that was summoned: its name is nobody else's. */
    agent_id: z.string().optional()
  });

  /** Who took part in an earlier session, and not yet in this one. */
  const formerSchema = z.looseObject({
    agent_name: name,
    session_id: id,
    owner: ownerSchema.optional()
  });

  const summonSchema = z.looseObject({
    agent_id: z.string(),
    agent_name: name,
    engine: z.string(),
    session_id: id,
    request_id: id,
    workspace: z.string(),
    /** The server that summoned it. */
    owner: ownerSchema,
    status: z.enum(['running', 'completed', 'failed']),
    /** Why there is no response of it. */
    error_code: z.string().optional(),
    error: z.string().optional(),
    created_at: time
  });

  return z.looseObject({
    version: z.literal(1),
    session: sessionSchema.nullable(),
    requests: z.array(requestSchema),
    feedback: z.array(responseSchema),
    participants: z.array(participantSchema),
    former_participants: z.array(formerSchema).optional(),
    summons: z.array(summonSchema).optional()
  });
});

export type CouncilState = z.output<ReturnType<typeof stateSchema>>;
export type Session = NonNullable<CouncilState['session']>;
export type Request = CouncilState['requests'][number];
export type Response = CouncilState['feedback'][number];
export type Participant = CouncilState['participants'][number];
export type Former = NonNullable<CouncilState['former_participants']>[number];
export type Summon = NonNullable<CouncilState['summons']>[number];

export const emptyState: CouncilState = {
  version: 1,
  session: null,
  requests: [],
  feedback: [],
  participants: []
};

/** The session's open question; undefined in a file that lacks it. */
export function requestOf(state: CouncilState): Request | undefined {
  const current = state.session?.current_request_id;
  return state.requests.find(({ id }) => id === current);
}

/** What was said to that question, in the order in which it was recorded. */
export function responsesOf(state: CouncilState): Response[] {
  const current = state.session?.current_request_id;
  return state.feedback.filter(({ request_id }) => request_id === current);
}
