import type { Closed, Sent, Started } from '../../core/council/council.ts';
import type { Facts } from '../../core/runs/fit.ts';
import { nameNote, type Telling, textPart } from './council-answer.ts';
import { fitAnswer, said } from './fit-answer.ts';

export function startedAnswer(
  { agentName, session, previous }: Started,
  { asked }: Telling
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
    ...said(...nameNote(agentName, asked))
  };
}

/** That it is recorded, and how many there are: no more. */
export function sentAnswer(sent: Sent, asked: string): Facts {
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
    ...said(...nameNote(agentName, asked))
  };
}

export function closedAnswer(
  { agentName, session }: Closed,
  { asked, clientName, statePath, textOf }: Telling
): Facts {
  const { id, status, conclusion } = session;
  return fitAnswer(
    clientName,
    [
      {
        least: 0,
        answer: (told) => ({
          agent_name: agentName,
          session_id: id,
          status,
          conclusion: {
            author: agentName,
            created_at: conclusion?.created_at,
            ...told(textPart(id, conclusion?.content ?? '', statePath))
          },
          ...said(...nameNote(agentName, asked))
        })
      }
    ],
    textOf
  );
}
