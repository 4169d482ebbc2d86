import { expect, test } from 'vitest';
import {
  openCouncil,
  participantOf,
  processOf,
  responseOf,
  witnessesOf
} from '../../../test/kit/servers/council-states.ts';
import { HostError } from '../errors.ts';
import type { CouncilState, Session, Summon } from './state.ts';
import { viewOf } from './view.ts';

const claude = participantOf('claude');

function viewFrom(state: CouncilState, cursor: string | null, pid = 1) {
  return viewOf(state, sessionOf(state), claude, cursor, witnessesOf(pid, [9]));
}

function sessionOf({ session }: CouncilState): Session {
  if (!session) throw new Error('There is no session.');
  return session;
}

function codeOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (error instanceof HostError) return error.code;
    throw error;
  }
  throw new Error('No error was thrown.');
}

const three = openCouncil({
  participants: [claude, participantOf('codex')],
  feedback: [
    responseOf('r1', 'codex'),
    responseOf('r2', 'claude'),
    responseOf('r3', 'codex')
  ]
});

test.each([
  [null, ['r1', 'r2', 'r3']],
  ['r1', ['r2', 'r3']],
  ['r3', []]
])('the view after the cursor %s has the responses %j', (cursor, ids) => {
  const { responses, ...view } = viewFrom(three, cursor);
  expect(responses.map(({ id }) => id)).toEqual(ids);
  expect(view.cursor).toBe(cursor);
});

test('an unknown cursor is an error', () => {
  expect(codeOf(() => viewFrom(three, 'r4'))).toBe('unknown_cursor');
  expect(codeOf(() => viewFrom(openCouncil(), 'r1'))).toBe('unknown_cursor');
});

test('a response to another request is neither shown nor a valid cursor', () => {
  const other = { ...responseOf('r0', 'codex'), request_id: 'q0' };
  const state = { ...three, feedback: [other, ...three.feedback] };
  expect(viewFrom(state, null).responses).toHaveLength(3);
  expect(codeOf(() => viewFrom(state, 'r0'))).toBe('unknown_cursor');
});

test('all responses are counted by author, even those before the cursor', () => {
  const { counts } = viewFrom(three, 'r3');
  expect(Object.fromEntries(counts)).toEqual({ codex: 2, claude: 1 });
});

test('a session whose request is missing from the file is an error', () => {
  const state = { ...three, requests: [] };
  expect(codeOf(() => viewFrom(state, null))).toBe('state_invalid');
});

test('a participant that has received the request knows it', () => {
  expect(viewFrom(three, null).knowsRequest).toBe(false);
  const knowing = participantOf('claude', { last_request_seen: 'q1' });
  const { knowsRequest } = viewOf(
    three,
    sessionOf(three),
    knowing,
    null,
    witnessesOf(1)
  );
  expect(knowsRequest).toBe(true);
});

const summon = (agent_id: string, status: Summon['status'], pid: number) => ({
  agent_id,
  agent_name: agent_id,
  engine: 'rehearsal',
  session_id: 's1',
  request_id: 'q1',
  workspace: '/w',
  owner: processOf(pid),
  status,
  created_at: '2026-11-22T05:00:00.000Z'
});

test('all see a running agent, and the summoning server sees a failed one', () => {
  const state = openCouncil({
    summons: [
      summon('at-work', 'running', 1),
      summon('done', 'completed', 1),
      summon('failed', 'failed', 1),
      summon('orphan', 'failed', 9),
      summon('left', 'running', 9)
    ]
  });
  const seenBy = (pid: number) =>
    viewFrom(state, null, pid).summons.map(({ agent_id }) => agent_id);
  expect(seenBy(1)).toEqual(['at-work', 'failed', 'orphan', 'left']);
  expect(seenBy(2)).toEqual(['at-work', 'orphan', 'left']);
  const left = viewFrom(state, null).summons.at(-1);
  expect(left).toMatchObject({ agent_id: 'left', status: 'unknown' });
});
