import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  createLog,
  endOf,
  type TestLog
} from '../../../test/kit/servers/logged-agents.ts';
import type { EndStatus } from '../../core/runs/run.ts';
import { DaySum } from './day-sum.ts';

let log: TestLog;

beforeEach(() => {
  log = createLog();
});

afterEach(() => log.workspace.remove());

/** Records that an agent has ended at a time. */
function finished(at: string, status: EndStatus, cost: number | null): void {
  const time = new Date(at);
  const end = { ...endOf(1), completed_at: time.toISOString() };
  log.journal.append({ ...end, status, cost_usd: cost }, time);
}

test('agents that end on a day are summed up, before and after the first read', async () => {
  // Creates the folder of the journal.
  log.run(0, 1);
  let now = '2030-01-02T10:00:00Z';
  finished('2030-01-01T23:59:59Z', 'completed', 5);
  finished('2030-01-02T00:00:01Z', 'completed', 0.5);
  finished('2030-01-02T09:00:00Z', 'failed', null);
  const sum = new DaySum(log.journal.files, () => new Date(now));
  const day = '2030-01-02';
  const first = {
    day,
    ended: 2,
    notCompleted: 1,
    costUsd: 0.5,
    costsUnknown: 1
  };
  expect(await sum.read()).toEqual(first);
  expect(await sum.read()).toEqual(first);
  finished('2030-01-02T11:00:00Z', 'completed', 0.25);
  expect(await sum.read()).toMatchObject({ ended: 3, costUsd: 0.75 });
  await log.rotate();
  finished('2030-01-02T12:00:00Z', 'completed', 0.25);
  expect(await sum.read()).toMatchObject({ ended: 4, costUsd: 1 });
  now = '2030-01-03T00:00:01Z';
  expect(await sum.read()).toMatchObject({ day: '2030-01-03', ended: 0 });
  finished('2030-01-03T00:00:02Z', 'completed', null);
  expect(await sum.read()).toMatchObject({ ended: 1, costUsd: undefined });
});

test('in a journal of many days, only the current day counts', async () => {
  log.run(0, 1);
  for (let day = 10; day < 30; day += 1)
    for (let count = 0; count < 50; count += 1)
      finished(`2030-01-${day}T10:00:00Z`, 'completed', 1);
  const now = () => new Date('2030-01-29T12:00:00Z');
  const sum = new DaySum(log.journal.files, now);
  expect(await sum.read()).toMatchObject({ ended: 50, costUsd: 50 });
});
