import {
  type Budget,
  countWithin,
  type Facts,
  type Part,
  sizeOf
} from '../../../answers/budget.ts';
import { inlineChars } from '../../../answers/format-run.ts';
import { cutWithFile, ofAgent } from '../../../answers/read-output.ts';
import { endsPart, linePart, listPart } from '../../../answers/truncate.ts';
import type {
  Closed,
  FormatView,
  Sent,
  Started
} from '../../../core/council/council.ts';
import type { Participant, Response } from '../../../core/council/state.ts';
import { longTextFile } from '../../../core/council/state-file.ts';
import type { Awaited, View } from '../../../core/council/view.ts';
import { shortName } from '../../../core/text.ts';
import type { TextOf } from '../tool/define-tool.ts';
import { fitAnswer, messageField } from './client-limits.ts';

/** The options of the answer to one call. */
export interface AnswerOptions {
  clientName: string;
  /** The council's state file; long texts are in `texts/` next to it. */
  statePath: string;
  /** The agent name that the caller passed. */
  requestedName: string;
  /** Whether to include a request that the agent has already received. */
  withRequest: boolean;
  /** Renders the answer as text; default: JSON. */
  textOf: TextOf | undefined;
}

/** Participants in an answer, the most recent ones; there may be hundreds. */
const mostParticipants = 30;
const mostSummons = 20;

/** Returns a function that formats a view as the answer to a call. */
export function viewFormatter(options: AnswerOptions): FormatView<Facts> {
  return (view) => {
    const facts = councilAnswer(view, options);
    const { next_cursor } = facts;
    return {
      answer: facts,
      cursor: typeof next_cursor === 'string' ? next_cursor : null
    };
  };
}

/** As many whole responses as fit; one that is too long on its own is cut. */
function councilAnswer(view: View, options: AnswerOptions): Facts {
  const { session, request, summons, participants } = view;
  const { statePath, clientName, withRequest } = options;
  const summonRows = summonsOf(summons);
  return fitAnswer(
    clientName,
    (put) => ({
      agent_name: view.agentName,
      session_id: session.id,
      status: session.status,
      ...ofAgent,
      request: {
        id: request.id,
        created_by: request.created_by,
        created_at: request.created_at,
        ...(withRequest || !view.knowsRequest
          ? put(textPart(request.id, request.content, statePath))
          : {})
      },
      ...put(responsesPart(view, statePath)),
      ...put(listPart('participants', participantsOf(view), true)),
      ...(participants.length > mostParticipants
        ? { participants_total: participants.length }
        : {}),
      ...(session.conclusion
        ? {
            conclusion: {
              author: session.conclusion.author,
              created_at: session.conclusion.created_at,
              ...put(
                textPart(session.id, session.conclusion.content, statePath)
              )
            }
          }
        : {}),
      ...(summonRows.length > 0
        ? put(listPart('summons', summonRows, true))
        : {}),
      ...nameNote(view.agentName, options.requestedName)
    }),
    options.textOf
  );
}

export function startedAnswer(
  { agentName, session, previous }: Started,
  { requestedName }: AnswerOptions
): Facts {
  return {
    agent_name: agentName,
    session_id: session.id,
    request_id: session.current_request_id,
    status: session.status,
    ...(previous
      ? {
          previous_session_id: previous.session.id,
          previous_status: previous.session.status,
          history_file: previous.file
        }
      : {}),
    ...nameNote(agentName, requestedName)
  };
}

export function sentAnswer(sent: Sent, requestedName: string): Facts {
  const { agentName, session, response } = sent;
  return {
    agent_name: agentName,
    session_id: session.id,
    status: session.status,
    request_id: response.request_id,
    response_id: response.id,
    created_at: response.created_at,
    responses_total: sent.responses,
    participants_total: sent.participants,
    ...nameNote(agentName, requestedName)
  };
}

export function closedAnswer(
  { agentName, session }: Closed,
  { requestedName, clientName, statePath, textOf }: AnswerOptions
): Facts {
  const { id, status, conclusion } = session;
  return fitAnswer(
    clientName,
    (put) => ({
      agent_name: agentName,
      session_id: id,
      status,
      conclusion: {
        author: agentName,
        created_at: conclusion?.created_at,
        ...put(textPart(id, conclusion?.content ?? '', statePath))
      },
      ...nameNote(agentName, requestedName)
    }),
    textOf
  );
}

/** Reports the agent's name if the requested one is taken. */
function nameNote(name: string, requestedName: string): Facts {
  return name === requestedName
    ? {}
    : messageField(
        `Another server's agent is "${requestedName}": you are "${name}".`
      );
}

function textPart(id: string, text: string, statePath: string): Part {
  const ends = { head: text, tail: '', totalChars: text.length };
  const mark = '\n\n… [cut: the whole text is in full_output] …\n\n';
  const path = () => longTextFile(statePath, id, text);
  return endsPart('content', ends, cutWithFile(path, mark));
}

function responsesPart(view: View, statePath: string): Part {
  const rows = candidates(view.responses);
  const lengths = rows.map((row) => JSON.stringify(row).length + 1);
  return {
    chars: lengths.reduce((sum, length) => sum + length, 0),
    within: ({ chars, bytes }) => {
      const none = { responses: [], next_cursor: view.cursor, more: false };
      const responses = firstWithin(rows, statePath, {
        chars,
        bytes: bytes - sizeOf(none) - 36
      });
      return {
        responses,
        next_cursor: rows[responses.length - 1]?.id ?? view.cursor,
        more: responses.length < view.responses.length
      };
    }
  };
}

type Row = Pick<Response, 'id' | 'author' | 'content' | 'created_at' | 'by'>;

/** The first responses: slightly more than fit into an answer. */
function candidates(responses: Response[]): Row[] {
  let chars = 0;
  const end = responses.findIndex(({ content }) => {
    chars += content.length + 100;
    return chars > inlineChars;
  });
  return responses
    .slice(0, end < 0 ? undefined : end + 1)
    .map(({ id, author, content, created_at, by }) => ({
      id,
      author,
      ...(by === undefined ? {} : { by }),
      content,
      created_at
    }));
}

function firstWithin(rows: Row[], statePath: string, budget: Budget): Facts[] {
  const count = countWithin(rows, budget);
  const [first] = rows;
  if (count > 0 || !first)
    return rows.slice(0, count).map((row) => ({ ...row }));
  const { content, ...row } = first;
  const rest = sizeOf(row) + 12;
  const part = textPart(row.id, content, statePath);
  const left = { chars: budget.chars - rest, bytes: budget.bytes - rest };
  return [{ ...row, ...part.within(left) }];
}

function participantsOf({ participants, counts }: View): Facts[] {
  const latest = new Set(
    participants
      .toSorted((a, b) => (a.last_seen < b.last_seen ? 1 : -1))
      .slice(0, mostParticipants)
  );
  const row = ({ agent_name, last_seen }: Participant) => ({
    agent_name,
    last_seen,
    responses: counts.get(agent_name) ?? 0
  });
  return participants.filter((one) => latest.has(one)).map(row);
}

/** Failed summons first; within each group, the newest first. */
function summonsOf(summons: Awaited[]): Facts[] {
  const isFailed = ({ status }: Awaited) => status === 'failed';
  return summons
    .toReversed()
    .toSorted((a, b) => Number(isFailed(b)) - Number(isFailed(a)))
    .slice(0, mostSummons)
    .map(summonRow);
}

function summonRow({ agent_id, agent_name, engine, ...rest }: Awaited): Facts {
  const { status, session_id, error, error_code } = rest;
  const budget = { chars: 300, bytes: 900 };
  return {
    agent_id,
    agent_name,
    engine: shortName(engine),
    status,
    ...(session_id === undefined ? {} : { session_id }),
    ...(error === undefined ? {} : linePart('error', error).within(budget)),
    ...(error_code === undefined ? {} : { error_code })
  };
}
