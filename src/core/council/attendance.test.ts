import { expect, test } from 'vitest';
import {
  openCouncil,
  participantOf,
  processOf,
  witnessesOf
} from '../../testing/council-states.ts';
import { HostError } from '../errors.ts';
import { Attendance, type Entrance, formersAfter } from './attendance.ts';
import { type CouncilState, emptyState } from './state.ts';

const now = '2026-11-22T06:00:00.000Z';

function enter(
  attendance: Attendance,
  state: CouncilState,
  how: Entrance,
  name = 'claude'
) {
  return attendance.enter(state, name, how, now);
}

function codeOf(work: () => unknown): string | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    if (error instanceof HostError) return error.code;
    throw error;
  }
}

/** A session after one in which claude took part, by the process 1. */
const later = openCouncil({
  former_participants: [
    { agent_name: 'claude', session_id: 's0', owner: processOf(1) }
  ]
});

test.each(['join', 'read', 'write'] as const)(
  'to %s where there is no council is an error',
  (how) => {
    const attendance = new Attendance(witnessesOf(1));
    expect(codeOf(() => enter(attendance, emptyState, how))).toBe('no_council');
  }
);

test.each(['join', 'read', 'write'] as const)(
  'who comes for the first time takes part, by %s',
  (how) => {
    const attendance = new Attendance(witnessesOf(1));
    const { state, participant } = enter(attendance, openCouncil(), how);
    expect(state.participants).toEqual([participant]);
    expect(participant).toEqual({
      agent_name: 'claude',
      last_seen: now,
      last_request_seen: null,
      last_feedback_seen: null,
      owner: processOf(1)
    });
  }
);

test('who is there already is seen again, and keeps its cursors', () => {
  const known = participantOf('claude', {
    last_request_seen: 'q1',
    last_feedback_seen: 'r1',
    owner: processOf(9)
  });
  const others = [participantOf('codex'), participantOf('grok')];
  const state = openCouncil({ participants: [known, ...others] });
  const attendance = new Attendance(witnessesOf(1, [9]));
  expect(enter(attendance, state, 'read').state.participants).toEqual([
    { ...known, last_seen: now, owner: processOf(1) },
    ...others
  ]);
});

test('words for an earlier request are refused until one joins', () => {
  const attendance = new Attendance(witnessesOf(1));
  const write = () => enter(attendance, later, 'write');
  expect(codeOf(write)).toBe('session_replaced');
  expect(codeOf(write)).toBe('session_replaced');
  const { state } = enter(attendance, later, 'join');
  expect(state.former_participants).toEqual([]);
  expect(codeOf(() => enter(attendance, state, 'write'))).toBeUndefined();
});

test('who reads is told once that the session is another one', () => {
  const attendance = new Attendance(witnessesOf(1));
  const read = () => enter(attendance, later, 'read');
  expect(codeOf(read)).toBe('session_replaced');
  expect(read().state.participants).toHaveLength(1);
});

test('a server that is new may read, but not write for its dead forerunner', () => {
  const attendance = new Attendance(witnessesOf(2, [1]));
  expect(codeOf(() => enter(attendance, later, 'write'))).toBe(
    'session_replaced'
  );
  expect(codeOf(() => enter(attendance, later, 'read'))).toBeUndefined();
});

test('a server keeps the name that it was given, when the first is free again', () => {
  const state = openCouncil({
    participants: [participantOf('claude', { owner: processOf(1) })]
  });
  const attendance = new Attendance(witnessesOf(2));
  const entered = enter(attendance, state, 'join');
  expect(entered.participant.agent_name).toBe('claude#2');
  const without = {
    ...entered.state,
    participants: entered.state.participants.slice(1)
  };
  expect(attendance.nameOf('claude', without)).toBe('claude#2');
});

test('those of a session that ends are remembered, but not who starts the next', () => {
  const state = openCouncil({
    participants: [
      participantOf('claude', { owner: processOf(1) }),
      participantOf('codex', { owner: processOf(2) }),
      participantOf('grok', { agent_id: '0badc0de' })
    ],
    former_participants: [
      { agent_name: 'codex', session_id: 's0' },
      { agent_name: 'gemini', session_id: 's0' }
    ]
  });
  expect(formersAfter(state, 'claude')).toEqual([
    { agent_name: 'codex', session_id: 's1', owner: processOf(2) },
    { agent_name: 'gemini', session_id: 's0' }
  ]);
});

test('of those who took part, a thousand are remembered', () => {
  const participants = Array.from({ length: 1200 }, (_, index) =>
    participantOf(`agent-${index}`)
  );
  const formers = formersAfter(openCouncil({ participants }), 'nobody');
  expect(formers).toHaveLength(1000);
  expect(formers.at(-1)?.agent_name).toBe('agent-1199');
});
