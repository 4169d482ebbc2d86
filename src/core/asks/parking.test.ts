import { existsSync, utimesSync } from 'node:fs';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { createTempWorkspace } from '../../../test/kit/workspaces/temp-workspace.ts';
import type { Ask } from './ask.ts';
import { askFile, createAsk, createAskFolder, decide } from './ask-files.ts';
import {
  callText,
  holdAll,
  isHeld,
  mayDeliver,
  offerCall,
  park,
  parkedOf,
  release,
  takeDue,
  unpark
} from './parking.ts';

const agentId = '1a2b3c4d';
const allow = { decision: 'allow', text: null, by: 'person' } as const;
const parker = { pid: 1, start: '2', place: 'here' };
const at = '2026-11-26T10:00:00.000Z';

let directory: string;

beforeEach(() => {
  const workspace = createTempWorkspace();
  onTestFinished(() => workspace.remove());
  directory = workspace.path;
  createAskFolder(directory);
});

/** An ask, which its bridge offers to park. */
function asked(call: string | undefined = 'call'): Ask {
  const ask = createAsk(directory, {
    ...{ agent_id: agentId, kind: 'permission', tool: 'Bash' },
    ...{ subject: { command: 'make' }, needs: 'full', bridge: parker },
    ...{ asked_at: at, expires_at: at }
  });
  if (call !== undefined) offerCall(directory, ask, call);
  return ask;
}

const hold = () => holdAll(directory, agentId, 0);

test('all open asks are held, if each of them is offered', () => {
  const asks = [asked(), asked()];
  expect(hold()).toEqual(asks);
  for (const ask of asks) expect(isHeld(directory, ask)).toBe(true);
});

test.each([
  ['there is none', () => undefined],
  [
    'one is too young',
    () => {
      const { v, ask_id, ...ask } = asked();
      createAsk(directory, ask);
    }
  ],
  [
    'all are answered',
    () => {
      decide(directory, asked(), allow);
    }
  ]
])('no ask is held when %s', (_title, prepare) => {
  prepare();
  expect(hold()).toBeUndefined();
  expect(existsSync(askFile(directory, '1.held'))).toBe(false);
});

test('no ask is held while the program may act on another answer', () => {
  const first = asked();
  const second = asked();
  decide(directory, first, allow);
  expect(mayDeliver(directory, first)).toBe(true);
  expect(holdAll(directory, agentId, 60_000)).toBeUndefined();
  expect(isHeld(directory, second)).toBe(false);
  expect(hold()).toEqual([second]);
});

test('an answer that was given before the clock was set back keeps no ask from being held', () => {
  const first = asked();
  const second = asked();
  decide(directory, first, allow);
  mayDeliver(directory, first);
  const later = new Date(Date.now() + 3_600_000);
  utimesSync(askFile(directory, '1.taken'), later, later);
  expect(holdAll(directory, agentId, 60_000)).toEqual([second]);
});

test('no bridge gives an answer while its ask is held, and any may afterwards', () => {
  const ask = asked();
  hold();
  decide(directory, ask, allow);
  expect(mayDeliver(directory, ask)).toBe(false);
  release(directory);
  expect(mayDeliver(directory, ask)).toBe(true);
  expect(mayDeliver(directory, ask)).toBe(true);
});

test('an ask whose answer is given to the program is not held', () => {
  const ask = asked();
  expect(mayDeliver(directory, ask)).toBe(true);
  expect(hold()).toBeUndefined();
});

test('the same call takes the answer that is due, once', () => {
  const ask = asked('call');
  hold();
  const parked = { session: 's', asks: [ask.ask_id], parker };
  park(directory, parked);
  expect(parkedOf(directory)).toEqual(parked);
  expect(takeDue(directory, agentId, 'call')).toBeUndefined();
  decide(directory, ask, allow);
  unpark(directory, parked);
  expect(parkedOf(directory)).toBeUndefined();
  expect(takeDue(directory, agentId, 'other')).toBeUndefined();
  expect(takeDue(directory, agentId, 'call')).toMatchObject(allow);
  expect(takeDue(directory, agentId, 'call')).toBeUndefined();
});

test('two asks for the same call are two answers', () => {
  const asks = [asked(), asked()];
  hold();
  const ids = asks.map(({ ask_id }) => ask_id);
  for (const ask of asks) decide(directory, ask, allow);
  unpark(directory, { session: 's', asks: ids, parker });
  const taken = [1, 2, 3].map(() => takeDue(directory, agentId, 'call'));
  expect(taken.map((one) => one?.decision)).toEqual([
    'allow',
    'allow',
    undefined
  ]);
});

test('the end of a parking may be repeated', () => {
  const ask = asked();
  hold();
  decide(directory, ask, allow);
  const parked = { session: 's', asks: [ask.ask_id], parker };
  for (let time = 0; time < 2; time += 1) unpark(directory, parked);
  expect(takeDue(directory, agentId, 'call')).toMatchObject(allow);
  unpark(directory, parked);
  expect(takeDue(directory, agentId, 'call')).toBeUndefined();
});

test('calls are the same whatever the order of their fields', () => {
  const one = { command: 'make', env: { a: 1, b: [{ c: 1, d: 2 }] } };
  const same = { env: { b: [{ d: 2, c: 1 }], a: 1 }, command: 'make' };
  expect(callText('Bash', same)).toBe(callText('Bash', one));
  const others = [
    { ...one, command: 'make all' },
    { ...one, description: 'x' },
    { ...one, env: { a: 1, b: [{ c: 1, d: 3 }] } }
  ];
  for (const other of others)
    expect(callText('Bash', other)).not.toBe(callText('Bash', one));
  expect(callText('Shell', one)).not.toBe(callText('Bash', one));
});
