import { describe, expect, test } from 'vitest';
import { recordWith } from '../../../../test/kit/servers/run-facts.ts';
import type { RunRecord } from '../run.ts';
import { type Asker, inScope, refuseLineage, type Scope } from './scope.ts';

const self = { pid: 7, start: 'start', place: 'here' };
const gone = { ...self, pid: 8 };
const other = { ...self, pid: 9 };
const editor = { client: 'editor', session: 's1' };

/** The ids of those that a wait is for, of these records. */
function scoped(
  records: Partial<RunRecord>[],
  {
    scope = 'mine',
    caller = editor,
    isThere = () => true,
    lineage
  }: Partial<Asker> & { scope?: Scope; lineage?: string[] } = {}
) {
  const all = records.map((one) => recordWith({ owner: self, ...one }));
  return inScope(
    all
      .filter(({ task }) => task !== 'ended')
      .map((record) => ({ record, status: 'running' })),
    scope,
    { caller, isThere },
    {
      store: {
        recordOf: (id) => all.find(({ agent_id }) => agent_id === id)
      },
      processes: {
        self,
        liveness: ({ pid }) => (pid === gone.pid ? 'dead' : 'alive')
      },
      origin: {
        isAgents: () => lineage !== undefined,
        lineage: () => lineage ?? []
      }
    }
  );
}

const caller = editor;

describe('a client waits', () => {
  test.each<[string, boolean, Partial<RunRecord>, boolean]>([
    ['for a run of its session', true, { caller }, true],
    ['for no run without a client', false, {}, true],
    [
      'for no run of a session that is there',
      false,
      { caller: { ...editor, session: 's2' } },
      true
    ],
    [
      'for a run of its ended session',
      true,
      { caller: { ...editor, session: 's2' } },
      false
    ],
    [
      'for no run of another client',
      false,
      { caller: { client: 'x', session: 's2' } },
      false
    ],
    [
      'for no run without a session',
      false,
      { caller: { client: 'editor' } },
      false
    ],
    [
      'for its run of a server that is gone',
      true,
      { owner: gone, caller },
      true
    ],
    ['for no run of another server', false, { owner: other, caller }, true]
  ])('%s', (_, isWanted, record, isThere) => {
    const found = scoped([{ agent_id: 'a', ...record }], {
      isThere: () => isThere
    });
    expect(found).toEqual({
      ...{ ids: isWanted ? ['a'] : [], others: isWanted ? 0 : 1 }
    });
  });

  test('for the agents of its agents, also when these have ended', () => {
    const found = scoped([
      { agent_id: 'a', caller, task: 'ended' },
      { agent_id: 'b', parent: 'a', task: 'ended' },
      { agent_id: 'c', parent: 'b' },
      { agent_id: 'd', parent: 'unknown' }
    ]);
    expect(found).toEqual({ ids: ['c'], others: 1 });
  });

  test('for all agents of the workspace when it asks for that', () => {
    const records = [{ agent_id: 'a' }, { agent_id: 'b', owner: other }];
    expect(scoped(records, { scope: 'workspace' }).ids).toEqual(['a', 'b']);
  });
});

test('a command line owns no agents', () => {
  const found = inScope(
    [{ record: recordWith({ agent_id: 'a', owner: self }), status: 'running' }],
    'mine',
    { isThere: () => false },
    {
      store: { recordOf: () => undefined },
      processes: { self, liveness: () => 'dead' },
      origin: { isAgents: () => false, lineage: () => ['a'] }
    }
  );
  expect(found).toEqual({ ids: [], others: 1 });
});

describe('an agent waits', () => {
  const records = [
    { agent_id: 'me', parent: 'above' },
    { agent_id: 'above' },
    { agent_id: 'child', parent: 'me' },
    { agent_id: 'grandchild', parent: 'child' },
    { agent_id: 'sibling', parent: 'above' }
  ];
  const lineage = ['me', 'above'];

  test('for its descendants', () => {
    expect(scoped(records, { lineage })).toEqual({
      ...{ ids: ['child', 'grandchild'], others: 1 }
    });
  });

  test('for no agent that waits for it, even in the whole workspace', () => {
    const { ids } = scoped(records, { lineage, scope: 'workspace' });
    expect(ids).toEqual(['child', 'grandchild', 'sibling']);
  });

  test('and records that name each other as parent end no wait', () => {
    const circle = [
      { agent_id: 'a', parent: 'b' },
      { agent_id: 'b', parent: 'a' }
    ];
    expect(scoped(circle, { lineage })).toEqual({ ids: [], others: 2 });
  });
});

test.each([
  ['me', 'is the caller'],
  ['above', 'is waiting for the caller']
])('a wait for %s is refused', (id, why) => {
  const origin = { isAgents: () => true, lineage: () => ['me', 'above'] };
  expect(() => refuseLineage(['x', id], origin)).toThrow(`Agent ${id} ${why}`);
  expect(() => refuseLineage(['x'], origin)).not.toThrow();
  const person = { ...origin, isAgents: () => false };
  expect(() => refuseLineage([id], person)).not.toThrow();
});
