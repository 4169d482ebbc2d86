import type { Tell } from '../../core/council/council.ts';
import { longTextFile } from '../../core/council/long-texts.ts';
import type { Participant, Response } from '../../core/council/state.ts';
import type { Awaited, View } from '../../core/council/view.ts';
import {
  type Facts,
  type Part,
  type Room,
  sizeOf
} from '../../core/runs/fit.ts';
import {
  endsPart,
  linePart,
  listPart,
  shortName
} from '../../core/runs/parts.ts';
import { inlineChars } from '../../core/runs/report.ts';
import { ofAgent } from '../../core/runs/words.ts';
import type { TextOf } from './define-tool.ts';
import { fitAnswer, said } from './fit-answer.ts';

export interface Telling {
  clientName: string;
  /** The council's file: long texts lie beside it. */
  statePath: string;
  /** The name that the caller asked for. */
  asked: string;
  /** Also to who has had the request. */
  withRequest: boolean;
  /** How an answer reads as text, when that is not its JSON. */
  textOf: TextOf | undefined;
}

/** A council may have hundreds; an answer names those who were here last. */
const mostParticipants = 30;
const mostSummons = 20;

export function tellIn(telling: Telling): Tell<Facts> {
  return (view) => {
    const told = councilAnswer(view, telling);
    const { next_cursor } = told;
    return {
      told,
      last: typeof next_cursor === 'string' ? next_cursor : null
    };
  };
}

/**
 * A view as an answer, no longer than a client takes: whole responses up to
 * the bound, and the next at the next call. One that is alone too long is told
 * by its two ends.
 */
function councilAnswer(view: View, telling: Telling): Facts {
  const { session, request, summons } = view;
  const { statePath, clientName } = telling;
  const isToldWhole = telling.withRequest || !view.knowsRequest;
  return fitAnswer(
    clientName,
    [
      {
        least: 0,
        answer: (told) => ({
          agent_name: view.agentName,
          session_id: session.id,
          status: session.status,
          ...ofAgent,
          request: {
            id: request.id,
            created_by: request.created_by,
            created_at: request.created_at,
            ...(isToldWhole
              ? told(textPart(request.id, request.content, statePath))
              : {})
          },
          ...told(responsesPart(view, statePath)),
          ...told(listPart('participants', participantsOf(view), true)),
          ...totalOf(view),
          ...(session.conclusion
            ? {
                conclusion: {
                  author: session.conclusion.author,
                  created_at: session.conclusion.created_at,
                  ...told(
                    textPart(session.id, session.conclusion.content, statePath)
                  )
                }
              }
            : {}),
          ...(summons.length > 0
            ? told(listPart('summons', summonsOf(view), true))
            : {}),
          ...said(...nameNote(view.agentName, telling.asked))
        })
      }
    ],
    telling.textOf
  );
}

/** Who asks for a name that is taken has to know the one he got. */
export function nameNote(name: string, asked: string): string[] {
  return name === asked
    ? []
    : [`Another server's agent is "${asked}": you are "${name}".`];
}

/** A text whole, or its two ends and the file that has all of it. */
export function textPart(id: string, text: string, statePath: string): Part {
  const ends = { head: text, tail: '', totalChars: text.length };
  return endsPart('content', ends, {
    mark: '\n\n… [cut: the whole text is in full_output] …\n\n',
    tell: ({ next, total }) => ({
      truncated: true,
      total_chars: total,
      next_offset: next,
      full_output: longTextFile(statePath, id, text)
    })
  });
}

function responsesPart(view: View, statePath: string): Part {
  const rows = candidates(view.responses);
  const lengths = rows.map((row) => JSON.stringify(row).length + 1);
  return {
    chars: lengths.reduce((sum, length) => sum + length, 0),
    within: (room) => {
      const none = { responses: [], next_cursor: view.cursor, more: false };
      const responses = firstWithin(rows, statePath, {
        chars: room.chars,
        bytes: room.bytes - sizeOf(none) - 36
      });
      return {
        responses,
        next_cursor: rows[responses.length - 1]?.id ?? view.cursor,
        more: responses.length < view.responses.length
      };
    }
  };
}

/** More than have room, however many there are. */
function candidates(responses: Response[]) {
  let chars = 0;
  const end = responses.findIndex(({ content }) => {
    chars += content.length + 100;
    return chars > inlineChars;
  });
  return responses
    .slice(0, end < 0 ? undefined : end + 1)
    .map(({ id, author, content, created_at }) => ({
      id,
      author,
      content,
      created_at
    }));
}

type Row = ReturnType<typeof candidates>[number];

function firstWithin(rows: Row[], statePath: string, room: Room): Facts[] {
  let { chars, bytes } = room;
  const told: Facts[] = [];
  for (const row of rows) {
    const json = JSON.stringify(row);
    chars -= json.length + 1;
    bytes -= Buffer.byteLength(json) + 1;
    if (chars < 0 || bytes < 0) break;
    told.push(row);
  }
  const [first] = rows;
  return told.length > 0 || !first ? told : [cut(first, statePath, room)];
}

function cut({ content, ...row }: Row, statePath: string, room: Room): Facts {
  const rest = sizeOf(row) + 12;
  const part = textPart(row.id, content, statePath);
  return {
    ...row,
    ...part.within({ chars: room.chars - rest, bytes: room.bytes - rest })
  };
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

function totalOf({ participants: { length } }: View): Facts {
  return length > mostParticipants ? { participants_total: length } : {};
}

/** Those that failed first, the newest before the older: they are news. */
function summonsOf({ summons }: View): Facts[] {
  return summons
    .toReversed()
    .toSorted((a, b) => Number(isFailed(b)) - Number(isFailed(a)))
    .slice(0, mostSummons)
    .map(summonRow);
}

function isFailed({ status }: Awaited): boolean {
  return status === 'failed';
}

function summonRow({ agent_id, agent_name, engine, ...rest }: Awaited): Facts {
  const { status, error, error_code } = rest;
  const room = { chars: 300, bytes: 900 };
  return {
    agent_id,
    agent_name,
    engine: shortName(engine),
    status,
    ...(error === undefined ? {} : linePart('error', error).within(room)),
    ...(error_code === undefined ? {} : { error_code })
  };
}
