import { expect, test } from 'vitest';
import { choose, type Policy, type Resident, unitsOf } from './select.ts';

const now = 1_000_000;

function resident(
  agentId: string,
  endedMs: number | undefined,
  changes: Partial<Resident> = {}
): Resident {
  return {
    ...{ agentId, endedMs, completedAt: undefined, engine: 'x', task: 'x' },
    ...{ bytes: 10, isRead: true, sessions: [], isChained: false },
    ...{ hold: undefined, because: undefined },
    ...changes
  };
}

/** Ended 100, 200 and 300 ms ago. */
const [newest, middle, oldest] = [
  resident('c', now - 100),
  resident('b', now - 200),
  resident('a', now - 300)
];
const all = [middle, newest, oldest];

const chosen = (policy: Policy, residents = all) =>
  choose(residents, policy, now).map((unit) =>
    unit.map(({ agentId }) => agentId).join('+')
  );

test.each<[string, Policy, string[]]>([
  ['nothing', {}, []],
  ['an age that one has', { olderThanMs: 300 }, ['a']],
  ['an age that none has', { olderThanMs: 301 }, []],
  ['an age of 0', { olderThanMs: 0 }, ['a', 'b', 'c']],
  ['a number to keep', { keep: 1 }, ['a', 'b']],
  ['a number to keep of 0', { keep: 0 }, ['a', 'b', 'c']],
  ['an age and a number to keep', { olderThanMs: 0, keep: 2 }, ['a']],
  ['a size that is kept', { maximumBytes: 30 }, []],
  ['a size that is exceeded', { maximumBytes: 29 }, ['a']],
  ['a size that is exceeded by far', { maximumBytes: 5 }, ['a', 'b', 'c']],
  [
    'an age that is enough for the size',
    { olderThanMs: 300, maximumBytes: 20 },
    ['a']
  ],
  [
    'a size that asks for more',
    { olderThanMs: 300, maximumBytes: 19 },
    ['a', 'b']
  ]
])('a policy with %s', (_, policy, ids) => {
  expect(chosen(policy)).toEqual(ids);
});

test('an agent with a hold, or without an end, is not removed', () => {
  const held = resident('d', now - 400, { hold: 'unread' });
  const active = resident('e', undefined, { hold: 'at_work' });
  expect(chosen({ olderThanMs: 0 }, [held, active, oldest])).toEqual(['a']);
  // The agent at work does not count among the last that ended.
  expect(chosen({ keep: 1 }, [active, newest, oldest])).toEqual(['a']);
});

test('a clock that was set back makes no agent old', () => {
  const future = resident('f', now + 500);
  expect(chosen({ olderThanMs: 1 }, [future, oldest])).toEqual(['a']);
  expect(chosen({ olderThanMs: 0 }, [future])).toEqual(['f']);
});

test('turns of a session on this disk are removed together or not at all', () => {
  const chain = { sessions: ['s', 't'], isChained: true };
  const [first, last] = [
    resident('a', now - 300, chain),
    resident('b', now - 100, chain)
  ];
  expect(chosen({ olderThanMs: 0 }, [first, last])).toEqual(['b+a']);
  expect(chosen({ olderThanMs: 200 }, [first, last])).toEqual([]);
  expect(chosen({ keep: 1 }, [first, last])).toEqual([]);
  const held = { ...last, hold: 'unread' as const };
  expect(chosen({ olderThanMs: 0 }, [first, held])).toEqual([]);
});

test('turns of a session elsewhere, and chains without a session, are single', () => {
  const sessions = ['s'];
  const units = unitsOf([
    resident('a', 1, { sessions }),
    resident('b', 2, { sessions }),
    resident('c', 3, { isChained: true })
  ]);
  expect(units.map((unit) => unit.length)).toEqual([1, 1, 1]);
});

test('agents that ended at the same time are in the order of their ids', () => {
  const chain = { sessions: ['s'], isChained: true };
  const [a, b] = [resident('a', 1, chain), resident('b', 1, chain)];
  const active = resident('c', undefined, chain);
  const order = (residents: Resident[]) =>
    unitsOf(residents)[0]?.map(({ agentId }) => agentId);
  expect(order([b, a, active])).toEqual(['c', 'a', 'b']);
  expect(order([active, a, b])).toEqual(['c', 'a', 'b']);
});
