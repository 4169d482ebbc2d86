import { expect, test } from 'vitest';
import {
  openCouncil,
  participantOf,
  processOf,
  witnessesOf
} from '../../testing/council-states.ts';
import { nameFor } from './names.ts';
import { ownerWitnesses } from './owner.ts';

/** One client of a process, whose others are there or have left. */
const clientOf = (pid: number, session: string, ...there: string[]) =>
  ownerWitnesses(witnessesOf(pid), session, (name) => there.includes(name));

const held = (name: string, pid: number, session?: string) =>
  participantOf(name, { owner: { ...processOf(pid), session } });

test('each client of one server has a name of its own', () => {
  const state = openCouncil({ participants: [held('claude', 1, 'a')] });
  const name = (session: string) =>
    nameFor('claude', state, clientOf(1, session, 'a', 'b'));
  expect(name('a')).toBe('claude');
  expect(name('b')).toBe('claude#2');
});

test('the name of a client that has left is free in its server alone', () => {
  const state = openCouncil({ participants: [held('claude', 1, 'a')] });
  expect(nameFor('claude', state, clientOf(1, 'b', 'b'))).toBe('claude');
  expect(nameFor('claude', state, witnessesOf(2))).toBe('claude#2');
  expect(nameFor('claude', state, clientOf(2, 'a', 'a'))).toBe('claude#2');
  expect(nameFor('claude', state, witnessesOf(2, [1]))).toBe('claude');
});

test('a server and its clients are kept apart too', () => {
  const state = openCouncil({ participants: [held('claude', 1)] });
  expect(nameFor('claude', state, clientOf(1, 'a', 'a'))).toBe('claude#2');
});
