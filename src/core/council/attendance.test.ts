import { expect, test } from 'vitest';
import {
  openCouncil,
  participantOf,
  processOf,
  witnessesOf
} from '../../../test/kit/servers/council-states.ts';
import { HostError } from '../errors.ts';
import { Attendance, type EntryMode, formersAfter } from './attendance.ts';
import { type CouncilState, emptyState } from './state.ts';

const now = '2026-11-22T06:00:00.000Z';

function enter(
  attendance: Attendance,
  state: CouncilState,
  mode: EntryMode,
  name = 'claude'
) {
  return attendance.enter(state, name, mode, now);
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

/** A session after one in which claude took part through process 1. */
const later = openCouncil({
  former_participants: [
    { agent_name: 'claude', session_id: 's0', owner: processOf(1) }
  ]
});

test.each(['join', 'read', 'write'] as const)(
  '%s without a council is an error',
  (mode) => {
    const attendance = new Attendance(witnessesOf(1));
    expect(codeOf(() => enter(attendance, emptyState, mode))).toBe(
      'no_council'
    );
  }
);

test.each(['join', 'read', 'write'] as const)(
  'the first %s of an agent adds it to the session',
  (mode) => {
    const attendance = new Attendance(witnessesOf(1));
    const { state, participant } = enter(attendance, openCouncil(), mode);
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

test('a participant keeps its cursors when it is seen again', () => {
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

test('a response to an earlier request is refused until the agent joins', () => {
  const attendance = new Attendance(witnessesOf(1));
  const write = () => enter(attendance, later, 'write');
  expect(codeOf(write)).toBe('session_replaced');
  expect(codeOf(write)).toBe('session_replaced');
  const { state } = enter(attendance, later, 'join');
  expect(state.former_participants).toEqual([]);
  expect(codeOf(() => enter(attendance, state, 'write'))).toBeUndefined();
});

test('the first read reports that the session was replaced', () => {
  const attendance = new Attendance(witnessesOf(1));
  const read = () => enter(attendance, later, 'read');
  expect(codeOf(read)).toBe('session_replaced');
  expect(read().state.participants).toHaveLength(1);
});

test('a server with the name of a dead one may read, but not write', () => {
  const attendance = new Attendance(witnessesOf(2, [1]));
  expect(codeOf(() => enter(attendance, later, 'write'))).toBe(
    'session_replaced'
  );
  expect(codeOf(() => enter(attendance, later, 'read'))).toBeUndefined();
});

test('a server keeps its assigned name when the requested one is free again', () => {
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

test('former participants are stored, except for the starter of the next session', () => {
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

test('at most a thousand former participants are stored', () => {
  const participants = Array.from({ length: 1200 }, (_, index) =>
    participantOf(`agent-${index}`)
  );
  const formers = formersAfter(openCouncil({ participants }), 'nobody');
  expect(formers).toHaveLength(1000);
  expect(formers.at(-1)?.agent_name).toBe('agent-1199');
});
