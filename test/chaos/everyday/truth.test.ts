import { expect, test } from 'vitest';
import { contradictions, type Known, leftOut } from './truth.ts';

const known: Known = {
  ids: new Set(['working', 'ended', 'done', 'waiting']),
  ended: new Set(['ended']),
  atWork: new Set(['working']),
  done: new Set(['ended', 'done'])
};

test.each([
  ['working', 'running'],
  ['working', 'queued'],
  ['waiting', 'queued'],
  ['ended', 'completed'],
  ['ended', 'failed'],
  ['done', 'running'],
  ['done', 'completed'],
  ['of another client', 'running'],
  ['taken away', 'not_found']
])('nothing is wrong with %s that is %s', (id, status) => {
  expect(contradictions(known, [{ id, status }])).toEqual([]);
});

test.each([
  ['working', 'failed', 'while it is at work'],
  ['working', 'interrupted', 'while it is at work'],
  ['waiting', 'completed', 'though it is not done'],
  ['ended', 'running', 'after its end'],
  ['ended', 'queued', 'after its end'],
  ['waiting', 'not_found', 'though it was acknowledged']
])('%s that is %s is found', (id, status, fault) => {
  expect(contradictions(known, [{ id, status }])).toEqual([
    `${id} is ${status} ${fault}`
  ]);
});

test('an agent at work that a list leaves out is found', () => {
  const said = [{ id: 'waiting', status: 'queued' }];
  expect(leftOut(known, said)).toEqual(['working']);
  const all = [...said, { id: 'working', status: 'running' }];
  expect(leftOut(known, all)).toEqual([]);
});
