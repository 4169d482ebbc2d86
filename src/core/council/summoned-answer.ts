import { randomUUID } from 'node:crypto';
import type { CouncilState, Response, Summon } from './state.ts';

/** What became of an agent that was summoned. */
export type Answer = { content: string } | Failure;

interface Failure {
  error: string;
  error_code?: string | undefined;
}

/**
 * A state with the answer of an agent, which is recorded once. Why there is
 * none is no response: it is told to who summoned the agent.
 */
export function recorded(
  state: CouncilState,
  agentId: string,
  answer: Answer
): CouncilState {
  const { session, summons = [] } = state;
  const summon = summons.find(({ agent_id }) => agent_id === agentId);
  if (summon?.status !== 'running') return state;
  const isOpen =
    session?.status === 'active' &&
    session.current_request_id === summon.request_id;
  const words = 'content' in answer && !isOpen ? late : answer;
  const ended: Summon =
    'content' in words
      ? { ...summon, status: 'completed' }
      : { ...summon, ...words, status: 'failed' };
  const now = new Date().toISOString();
  return {
    ...state,
    summons: summons.map((other) => (other === summon ? ended : other)),
    ...('content' in words ? said(state, summon, words.content, now) : {})
  };
}

/** No answer is filed under another question. */
const late: Failure = {
  error: 'The council was over before it answered: result has its words.',
  error_code: 'council_closed'
};

function said(
  { feedback, participants }: CouncilState,
  { request_id, agent_name: author, agent_id }: Summon,
  content: string,
  now: string
) {
  const id = randomUUID();
  const response: Response = {
    id,
    request_id,
    author,
    content,
    created_at: now
  };
  return {
    feedback: [...feedback, response],
    participants: participants.map((participant) =>
      participant.agent_id === agent_id
        ? { ...participant, last_seen: now }
        : participant
    )
  };
}
