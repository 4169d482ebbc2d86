import { afterEach, expect, test } from 'vitest';
import {
  agentId,
  createLog,
  type TestLog
} from '../../../../test/kit/servers/logged-agents.ts';
import { recentlyEnded } from './recently-ended.ts';

let log: TestLog;

afterEach(() => log.workspace.remove());

test('agents are listed in the order of their ends, not of their spawns', () => {
  log = createLog();
  for (const number of [1, 2, 3, 4]) log.spawn(agentId(number), 'x');
  for (const number of [3, 1, 4]) log.finish(agentId(number), 'y');

  expect(recentlyEnded(log.journal.files, 2)).toEqual([agentId(1), agentId(4)]);
  expect(recentlyEnded(log.journal.files, 9)).toEqual([
    agentId(3),
    agentId(1),
    agentId(4)
  ]);
});

test('an end that is recorded twice counts once', () => {
  log = createLog();
  for (const number of [1, 2, 2, 2]) log.finish(agentId(number), 'y');
  expect(recentlyEnded(log.journal.files, 3)).toEqual([agentId(1), agentId(2)]);
});

test('without a journal no agent has ended', () => {
  log = createLog();
  expect(recentlyEnded(log.journal.files, 3)).toEqual([]);
  log.spawn(agentId(1), 'says "type":"finished","agent_id":"00000009"');
  expect(recentlyEnded(log.journal.files, 3)).toEqual([]);
});

test('a long journal is read backwards across the borders of blocks', () => {
  log = createLog();
  log.finish(agentId(1), 'first');
  for (let number = 0; number < 60; number += 1)
    log.spawn(agentId(100 + number), '한'.repeat(3900 - number));
  log.finish(agentId(2), 'second');
  for (let number = 0; number < 60; number += 1)
    log.spawn(agentId(200 + number), 'x'.repeat(11_000 + number));

  expect(recentlyEnded(log.journal.files, 5)).toEqual([agentId(1), agentId(2)]);
});
