import { expect, test } from 'vitest';
import { recordWith } from '../../../test/kit/servers/run-facts.ts';
import type { DayTotal } from '../../interfaces/board/day-sum.ts';
import type { WatchedAgent } from '../../interfaces/board/watched-agent.ts';
import { summaryOf } from './summary.ts';

const day: DayTotal = {
  ...{ day: '2026-05-20', ended: 0, notCompleted: 0 },
  ...{ costUsd: undefined, costsUnknown: 0 }
};

function agent(
  state: WatchedAgent['state'],
  changes: Partial<WatchedAgent> = {}
): WatchedAgent {
  return {
    ...{ id: '0badcafe', engine: 'claude', model: undefined, state },
    ...{ isActive: true, seconds: 1, costUsd: undefined, changed: undefined },
    ...{ doing: undefined, task: 'x', quietSeconds: undefined },
    ...{ heardAt: undefined, client: undefined, squad: undefined },
    ...{ endedAt: undefined },
    of: { record: recordWith(), status: 'running' },
    ...changes
  };
}

/** A worker, as far as a summary looks at it. */
const worker = agent('busy', { of: Object({ meta: {} }) });

const summary = (agents: WatchedAgent[], today: Partial<DayTotal> = {}) =>
  summaryOf({
    ...{ agents, today: { ...day, ...today }, settling: [], isUnused: false }
  });

test.each<[string, WatchedAgent[]]>([
  ['0 running', []],
  ['0 running', [agent('completed', { isActive: false })]],
  ['2 running', [agent('running'), agent('running')]],
  ['2 running, 1 asking', [agent('running'), agent('asking')]],
  ['1 running, 1 queued', [agent('running'), agent('queued')]],
  ['0 running, 1 worker', [worker]],
  ['1 running, 2 workers', [worker, agent('running'), worker]],
  [
    '2 running, 1 asking, 1 queued, 1 worker',
    [agent('asking'), agent('running'), agent('queued'), worker]
  ]
])('the agents at work are counted: %s', (counts, agents) => {
  expect(summary(agents)).toBe(`${counts}; today (UTC) none ended`);
});

test.each<[string, Partial<DayTotal>]>([
  ['none ended', { ended: 0, costUsd: 1 }],
  ['3 ended, cost unknown', { ended: 3 }],
  ['3 ended, cost $0.5000', { ended: 3, costUsd: 0.5 }],
  [
    '1 ended, 1 not completed, cost $1.00',
    {
      ...{ ended: 1, notCompleted: 1, costUsd: 1 }
    }
  ],
  [
    '2 ended, cost $1.00 + 1 unknown',
    {
      ...{ ended: 2, costUsd: 1, costsUnknown: 1 }
    }
  ]
])('the ends of the day are summed up: %s', (text, today) => {
  expect(summary([], today)).toBe(`0 running; today (UTC) ${text}`);
});
