import { isUtf8 } from 'node:buffer';
import { z } from 'zod';
import { lazy } from '../lazy.ts';

/**
 * The schema of the council's file, version 1, with the field names of the
 * wire format. Unknown keys are kept, except in `owner`.
 */
export const stateSchema = lazy(() => {
  const time = z.string();
  const id = z.string().min(1);
  const name = z.string().min(1);

  /** The server process that a participant uses. */
  const ownerSchema = z.object({
    pid: z.number(),
    start: z.string(),
    place: z.string(),
    /** The client, if the server has several. */
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
    created_at: time,
    /** Absent for an agent. */
    by: z.literal('person').optional()
  });

  const participantSchema = z.looseObject({
    agent_name: name,
    last_seen: time,
    last_request_seen: id.nullable(),
    last_feedback_seen: id.nullable(),
    /** The server that owns the name for as long as it lives. */
    owner: ownerSchema.optional(),
    /** The run id of a summoned agent, whose name is never shared. */
    agent_id: z.string().optional()
  });

  /** A participant of an earlier session that has not entered this one. */
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
    /** The server that summoned the agent. */
    owner: ownerSchema,
    status: z.enum(['running', 'completed', 'failed']),
    /** Why the agent gave no response. */
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

/** The current request; undefined without a session, or if it is missing. */
export function requestOf(state: CouncilState): Request | undefined {
  const current = state.session?.current_request_id;
  return state.requests.find(({ id }) => id === current);
}

/** The responses to the current request, in the order of recording. */
export function responsesOf(state: CouncilState): Response[] {
  const current = state.session?.current_request_id;
  return state.feedback.filter(({ request_id }) => request_id === current);
}

export function participantIn(
  { participants }: CouncilState,
  name: string
): Participant | undefined {
  return participants.find(({ agent_name }) => agent_name === name);
}

/**
 * Responses and their lines in the file. Recorded responses never change, so
 * the known part of a long file is neither parsed nor serialized again.
 */
export interface KnownLines {
  responses: Response[];
  lines: Buffer;
}

const listStart = '\n  "feedback": [';
const between = ',\n';

/** Serializes a state as JSON, with one line for each entry of a list. */
export function encode(state: CouncilState): string {
  const fields = Object.entries(state).map(
    ([key, value]) =>
      `  ${JSON.stringify(key)}: ${
        Array.isArray(value) ? encodeList(value) : JSON.stringify(value)
      }`
  );
  return `{\n${fields.join(',\n')}\n}\n`;
}

/** Like `encode`, as bytes; reuses the lines of an earlier state. */
export function encodeWith(
  state: CouncilState,
  known: KnownLines | undefined
): { bytes: Buffer; known: KnownLines } {
  const { feedback: responses } = state;
  const text = encode({ ...state, feedback: [] });
  const at = text.indexOf(listStart) + listStart.length;
  const lines = linesOf(responses, known);
  const [before, after] =
    responses.length === 0
      ? [text.slice(0, at), text.slice(at)]
      : [`${text.slice(0, at)}\n`, `\n  ${text.slice(at)}`];
  const head = Buffer.from(before);
  const tail = Buffer.from(after);
  const bytes = Buffer.concat([head, ...lines, tail]);
  const end = bytes.length - tail.length;
  return {
    bytes,
    known: { responses, lines: bytes.subarray(head.length, end) }
  };
}

/** A state in which one null replaces all known responses. */
const partialSchema = lazy(() => {
  const schema = stateSchema();
  const { element } = schema.shape.feedback;
  return schema.extend({ feedback: z.tuple([z.null()], element) });
});

/**
 * Decodes a file whose list of responses begins with the known ones. Returns
 * undefined for any other file, and for a file that is invalid.
 */
export function decodeWith(
  bytes: Buffer,
  { responses, lines }: KnownLines
): { state: CouncilState; known: KnownLines } | undefined {
  const start = bytes.indexOf(`${listStart}\n`) + listStart.length + 1;
  const end = start + lines.length;
  if (responses.length === 0 || !bytes.subarray(start, end).equals(lines))
    return undefined;
  const others = Buffer.concat([
    bytes.subarray(0, start),
    Buffer.from('null'),
    bytes.subarray(end)
  ]);
  const parsed = partialSchema().safeParse(jsonOf(others)).data;
  if (!parsed) return undefined;
  const [, ...fresh] = parsed.feedback;
  const feedback = [...responses, ...fresh];
  const more = Buffer.concat(linesOf(feedback, { responses, lines }).slice(1));
  const isOurFormat = bytes.subarray(end, end + more.length).equals(more);
  return {
    state: { ...parsed, feedback },
    known:
      fresh.length > 0 && isOurFormat
        ? {
            responses: feedback,
            lines: bytes.subarray(start, end + more.length)
          }
        : { responses, lines }
  };
}

function jsonOf(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) return undefined;
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
}

/** The lines of all responses; known lines are reused. */
function linesOf(
  responses: Response[],
  known: KnownLines = { responses: [], lines: Buffer.alloc(0) }
): Buffer[] {
  const count = known.responses.length;
  const isFirst = (one: Response, index: number) => one === responses[index];
  if (count === 0 || !known.responses.every(isFirst))
    return [Buffer.from(responses.map(lineOf).join(between))];
  const fresh = responses.slice(count).map((one) => between + lineOf(one));
  return [known.lines, Buffer.from(fresh.join(''))];
}

function encodeList(entries: unknown[]): string {
  return entries.length === 0
    ? '[]'
    : `[\n${entries.map(lineOf).join(between)}\n  ]`;
}

function lineOf(entry: unknown): string {
  return `    ${JSON.stringify(entry)}`;
}
