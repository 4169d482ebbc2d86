import { expect, test } from 'vitest';
import type { Awaited, View } from '../../../core/council/view.ts';
import { viewFormatter } from './council-answer.ts';

const at = '2026-01-01T00:00:00.000Z';

function viewWith(summons: Awaited[]): View {
  return {
    agentName: 'alice',
    session: {
      id: 'a-session',
      status: 'active',
      created_at: at,
      current_request_id: 'a-request',
      conclusion: null
    },
    request: {
      id: 'a-request',
      content: 'Which language?',
      created_by: 'alice',
      created_at: at,
      status: 'open'
    },
    knowsRequest: true,
    responses: [],
    cursor: null,
    participants: [],
    counts: new Map(),
    summons
  };
}

test.each(['codex', 'an unknown client'])(
  'of many summoned agents, the last failed one is in the answer for %s',
  (clientName) => {
    const failed = Array.from({ length: 30 }, (_, index) => ({
      agent_id: `failed-${index}`,
      agent_name: `oracle#${index + 1}`,
      engine: 'oracle',
      status: 'failed' as const,
      error: '한'.repeat(500)
    }));
    const running = failed.map((one) => ({
      ...one,
      agent_id: one.agent_id.replace('failed', 'running'),
      status: 'running' as const
    }));
    const { answer } = viewFormatter({
      clientName,
      statePath: '/project/state.json',
      requestedName: 'alice',
      withRequest: false,
      textOf: undefined
    })(viewWith([...failed, ...running]));
    const rows = Array.isArray(answer.summons) ? answer.summons : [];
    expect(rows.slice(0, 4)).toMatchObject([
      { agent_id: 'failed-29', status: 'failed' },
      { agent_id: 'failed-28', status: 'failed' },
      { agent_id: 'failed-27', status: 'failed' },
      { agent_id: 'failed-26', status: 'failed' }
    ]);
  }
);
