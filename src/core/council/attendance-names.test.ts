import { expect, test } from 'vitest';
import {
  openCouncil,
  participantOf,
  processOf,
  witnessesOf
} from '../../../test/kit/servers/council-states.ts';
import { nameFor, unusedName } from './attendance.ts';

const held = (name: string, pid: number) =>
  participantOf(name, { owner: processOf(pid) });

test('a free name is assigned as requested', () => {
  expect(nameFor('claude', openCouncil(), witnessesOf(1))).toBe('claude');
});

test('a server keeps its name', () => {
  const state = openCouncil({ participants: [held('claude', 1)] });
  expect(nameFor('claude', state, witnessesOf(1))).toBe('claude');
});

test('each living server gets its own number', () => {
  const participants = [held('claude', 1), held('claude#2', 2)];
  const state = openCouncil({ participants });
  expect(nameFor('claude', state, witnessesOf(3))).toBe('claude#3');
  expect(nameFor('claude', state, witnessesOf(2))).toBe('claude#2');
});

test('the name of a dead server is reused', () => {
  const participants = [held('claude', 1), held('claude#2', 2)];
  const state = openCouncil({ participants });
  expect(nameFor('claude', state, witnessesOf(3, [1]))).toBe('claude');
  expect(nameFor('claude', state, witnessesOf(3, [2]))).toBe('claude#2');
});

test('a process with the same pid is not the same server', () => {
  const owner = { ...processOf(1), start: 'earlier' };
  const state = openCouncil({
    participants: [participantOf('claude', { owner })]
  });
  expect(nameFor('claude', state, witnessesOf(1))).toBe('claude#2');
});

test('a name in a file without owners is free', () => {
  const state = openCouncil({ participants: [participantOf('claude')] });
  expect(nameFor('claude', state, witnessesOf(1))).toBe('claude');
});

test('the name of a summoned agent is never shared', () => {
  const summoned = participantOf('codex', { agent_id: '0badc0de' });
  const state = openCouncil({ participants: [summoned] });
  expect(nameFor('codex', state, witnessesOf(1))).toBe('codex#2');
});

test('a participant of the previous session keeps its name', () => {
  const former = { agent_name: 'claude', session_id: 's0' };
  const state = openCouncil({
    former_participants: [{ ...former, owner: processOf(1) }]
  });
  expect(nameFor('claude', state, witnessesOf(2))).toBe('claude#2');
  expect(nameFor('claude', state, witnessesOf(1))).toBe('claude');
});

test('a summoned agent gets a name that no participant has or had', () => {
  const state = openCouncil({
    participants: [participantOf('codex')],
    former_participants: [{ agent_name: 'codex#2', session_id: 's0' }]
  });
  expect(unusedName('codex', state)).toBe('codex#3');
  expect(unusedName('grok', state)).toBe('grok');
});
