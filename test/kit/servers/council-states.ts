import {
  type CouncilState,
  emptyState,
  type Participant,
  type Response
} from '../../../src/core/council/state.ts';
import type { ProcessIdentity } from '../../../src/core/processes/process-identity.ts';
import type { LivenessCheck } from '../../../src/core/state/locks/file-lock.ts';

/** Processes by number; all others are alive. */
export function processOf(pid: number): ProcessIdentity {
  return { pid, start: `start ${pid}`, place: 'here' };
}

/** What a process knows of itself and of ended processes. */
export function witnessesOf(pid: number, dead: number[] = []): LivenessCheck {
  return {
    self: processOf(pid),
    liveness: (process) => (dead.includes(process.pid) ? 'dead' : 'alive')
  };
}

const time = '2026-11-22T05:00:00.000Z';

export function participantOf(
  agent_name: string,
  more: Partial<Participant> = {}
): Participant {
  return {
    agent_name,
    last_seen: time,
    last_request_seen: null,
    last_feedback_seen: null,
    ...more
  };
}

/** A response to the request of `openCouncil`. */
export function responseOf(
  id: string,
  author: string,
  content = `What ${author} says.`
): Response {
  return { id, request_id: 'q1', author, content, created_at: time };
}

/** An open session `s1` with the request `q1`. */
export function openCouncil(more: Partial<CouncilState> = {}): CouncilState {
  return {
    ...emptyState,
    session: {
      id: 's1',
      status: 'active',
      created_at: time,
      current_request_id: 'q1',
      conclusion: null
    },
    requests: [
      {
        id: 'q1',
        content: 'Which?',
        created_by: 'claude',
        created_at: time,
        status: 'open'
      }
    ],
    ...more
  };
}
