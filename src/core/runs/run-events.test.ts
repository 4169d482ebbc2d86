import { expect, test } from 'vitest';
import {
  outcomeWith,
  recordWith
} from '../../../test/kit/servers/run-facts.ts';
import { RunEvents } from './run-events.ts';

const record = recordWith();

test('listeners are called in the order in which they subscribed', () => {
  const events = new RunEvents((problem) => expect.fail(String(problem)));
  const calls: string[] = [];
  events.onRunSpawned(({ agent_id }) => calls.push(`first ${agent_id}`));
  events.onRunSpawned(() => calls.push('second'));
  events.onRunStarted(() => calls.push('another event'));
  events.runSpawned(record);
  expect(calls).toEqual(['first 0badcafe', 'second']);
});

test('a listener that throws is reported, and the next one is called', () => {
  const problems: unknown[] = [];
  const events = new RunEvents((problem) => problems.push(problem));
  const broken = new Error('broken');
  const ended: string[] = [];
  events.onRunEnded(() => {
    throw broken;
  });
  events.onRunEnded(({ outcome }) => ended.push(outcome.status));
  events.runEnded({ record, outcome: outcomeWith() });
  expect(problems).toEqual([broken]);
  expect(ended).toEqual(['completed']);
});

test('a listener may unsubscribe while it is called', () => {
  const events = new RunEvents((problem) => expect.fail(String(problem)));
  const calls: string[] = [];
  const unsubscribe = events.onRunExited(() => {
    calls.push('once');
    unsubscribe();
  });
  events.onRunExited(() => calls.push('always'));
  events.runExited(record);
  events.runExited(record);
  expect(calls).toEqual(['once', 'always', 'always']);
});
