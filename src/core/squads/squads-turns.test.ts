import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  outcomeWith,
  recordWith
} from '../../../test/kit/servers/run-facts.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../test/kit/workspaces/temp-workspace.ts';
import type { ApiEngine, CliEngine } from '../../plugin/plugin.ts';
import { RunStore } from '../runs/run-store.ts';
import { holdersOf } from '../runs/sessions/session-turns.ts';
import type { SquadSettings } from './settings.ts';
import { type InTurn, membersToStart, Turns } from './squads.ts';

let workspace: TempWorkspace;
let store: RunStore;

beforeEach(() => {
  workspace = createTempWorkspace();
  store = new RunStore(workspace.record);
});
afterEach(() => workspace.remove());

const free = cli('free');
const serial = { ...cli('serial'), oneAtATime: true };
const api: ApiEngine = {
  kind: 'api',
  name: 'api',
  description: '',
  keyNames: [],
  generate: () => Promise.reject(new Error('not in this test'))
};

function cli(name: string): CliEngine {
  return { kind: 'cli', name, description: '', command: name, args: () => [] };
}

/** The agents that each member waits for, in the order of the members. */
function taken(
  members: Omit<InTurn, 'agentId'>[],
  executionMode?: SquadSettings['executionMode']
) {
  const turns = new Turns({ executionMode, sequentialDelayMs: 7 }, store);
  return members.map((member, index) =>
    turns
      .take({ ...member, agentId: `agent${index}` })
      .map(({ agentId, delayMs }) => `${agentId} +${delayMs}`)
  );
}

const chat = { id: 'chat', lastAgent: null };

describe('members of a squad', () => {
  const mixed = [serial, free, serial, api, serial].map((engine) => ({
    engine
  }));

  test('wait only if their engine runs one at a time', () => {
    expect(taken(mixed)).toEqual([[], [], ['agent0 +7'], [], ['agent2 +7']]);
  });

  test('all run in parallel if configured', () => {
    expect(taken(mixed, 'parallel')).toEqual([[], [], [], [], []]);
  });

  test('all run one after another if configured', () => {
    expect(taken(mixed, 'sequential')).toEqual([
      [],
      ['agent0 +7'],
      ['agent1 +7'],
      ['agent2 +7'],
      ['agent3 +7']
    ]);
  });

  test('do not wait for a member that cannot start', () => {
    const failure = { code: 'spawn_failed', message: '' } as const;
    expect(
      taken([{ engine: serial, failure, chat }, { engine: serial }])
    ).toEqual([[], []]);
    expect(holdersOf('serial', 'chat', store)).toEqual([]);
  });
});

describe('members on one chat', () => {
  const on = { engine: free, chat };

  test('run one after another without a delay in any mode', () => {
    expect(taken([on, { engine: free }, on, on], 'parallel')).toEqual([
      [],
      [],
      ['agent0 +0'],
      ['agent2 +0', 'agent0 +0']
    ]);
  });

  test('of an API fail if the chat was cleaned after planning', () => {
    expect(() => taken([{ engine: api, chat }])).toThrow(
      'There is no agent "chat"'
    );
    store.create(recordWith({ agent_id: '0badcafe' }), 'x', 'x');
    const there = { id: '0badcafe', lastAgent: null };
    expect(taken([{ engine: api, chat: there }])).toEqual([[]]);
  });

  test('wait for members of earlier squads', () => {
    taken([on]);
    const next = new Turns(
      { executionMode: undefined, sequentialDelayMs: 0 },
      store
    );
    const after = next.take({ ...on, agentId: 'later' });
    expect(after).toEqual([{ agentId: 'agent0', delayMs: 0 }]);
  });

  test('of another engine do not wait', () => {
    expect(taken([on, { engine: cli('other'), chat }])).toEqual([[], []]);
  });

  test('wait for its first agent until it has ended', () => {
    const id = '0badcafe';
    store.create(recordWith({ agent_id: id, engine: 'api' }), 'x', 'x');
    const started = { engine: api, chat: { id, lastAgent: id } };
    expect(taken([started, started])).toEqual([
      [`${id} +0`],
      ['agent0 +0', `${id} +0`]
    ]);
    store.end(id, outcomeWith());
    expect(taken([started])).toEqual([['agent1 +0', 'agent0 +0']]);
  });

  test('do not wait for a released member', () => {
    const turns = new Turns(
      { executionMode: undefined, sequentialDelayMs: 0 },
      store
    );
    const one = { ...on, agentId: 'one' };
    const two = { ...on, agentId: 'two' };
    turns.take(one);
    turns.take(two);
    turns.release(two);
    const after = turns.take({ ...on, agentId: 'three' });
    expect(after).toEqual([{ agentId: 'one', delayMs: 0 }]);
    expect(holdersOf('free', 'chat', store)).toEqual(['one', 'three']);
  });
});

test('no member waits for one that was released or passed', () => {
  const turns = new Turns(
    { executionMode: 'sequential', sequentialDelayMs: 0 },
    store
  );
  const take = (agentId: string) =>
    turns.take({ engine: free, agentId }).map((earlier) => earlier.agentId);
  expect(take('one')).toEqual([]);
  expect(take('two')).toEqual(['one']);
  turns.release({ engine: free, agentId: 'two' });
  expect(take('three')).toEqual(['one']);
  turns.pass({ engine: free, agentId: 'three' });
  expect(take('four')).toEqual(['one']);
});

test.each([
  ['all programs', [free, free, api], 'parallel', [0, 1]],
  [
    'one of an engine that runs one at a time',
    [serial, free, serial],
    undefined,
    [0, 1]
  ],
  ['the first one in sequential mode', [free, serial, free], 'sequential', [0]],
  ['no program if an API is the first', [api, free], 'sequential', []]
] as const)(
  'the members that start at once are %s',
  (_, engines, executionMode, indexes) => {
    const members = engines.map((engine, index) => ({
      agentId: String(index),
      engine
    }));
    const first = membersToStart(members, {
      executionMode,
      sequentialDelayMs: 0
    });
    expect(first.map(({ agentId }) => Number(agentId))).toEqual(indexes);
  }
);

test('only the first member of a chat that can start starts at once', () => {
  const failure = { code: 'spawn_failed', message: '' } as const;
  const members = [
    { agentId: 'a', engine: free, failure },
    { agentId: 'b', engine: free, chat },
    { agentId: 'c', engine: free, chat }
  ];
  const first = membersToStart(members, { sequentialDelayMs: 0 });
  expect(first.map(({ agentId }) => agentId)).toEqual(['b']);
});
