import { expect, test } from 'vitest';
import {
  openCouncil,
  participantOf,
  processOf,
  witnessesOf
} from '../../../test/kit/servers/council-states.ts';
import { nameFor } from './attendance.ts';
import { ownerLiveness } from './council-store.ts';

/** A client of a process; `connected` lists all connected clients of it. */
const clientOf = (pid: number, session: string, ...connected: string[]) =>
  ownerLiveness(witnessesOf(pid), session, (name) => connected.includes(name));

const held = (name: string, pid: number, session?: string) =>
  participantOf(name, { owner: { ...processOf(pid), session } });

test('each client of a server gets its own name', () => {
  const state = openCouncil({ participants: [held('claude', 1, 'a')] });
  const name = (session: string) =>
    nameFor('claude', state, clientOf(1, session, 'a', 'b'));
  expect(name('a')).toBe('claude');
  expect(name('b')).toBe('claude#2');
});

test('the name of a disconnected client is free in its own server only', () => {
  const state = openCouncil({ participants: [held('claude', 1, 'a')] });
  expect(nameFor('claude', state, clientOf(1, 'b', 'b'))).toBe('claude');
  expect(nameFor('claude', state, witnessesOf(2))).toBe('claude#2');
  expect(nameFor('claude', state, clientOf(2, 'a', 'a'))).toBe('claude#2');
  expect(nameFor('claude', state, witnessesOf(2, [1]))).toBe('claude');
});

test('a server and its clients have separate names', () => {
  const state = openCouncil({ participants: [held('claude', 1)] });
  expect(nameFor('claude', state, clientOf(1, 'a', 'a'))).toBe('claude#2');
});
