import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ApiEngine, CliEngine } from '../../plugin.ts';
import { outcomeWith, recordWith } from '../../testing/run-facts.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../testing/temp-workspace.ts';
import { RunStore } from '../runs/run-store.ts';
import { holdersOf } from '../runs/session-turns.ts';
import type { SquadSettings } from './settings.ts';
import { beginners, type InTurn, Turns } from './turns.ts';

let workspace: TempWorkspace;
let store: RunStore;

beforeEach(() => {
  workspace = createTempWorkspace();
  store = new RunStore(workspace.record);
});
afterEach(() => workspace.remove());

const free = cli('free');
const shy = { ...cli('shy'), oneAtATime: true };
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

/** Members by their engines, in order; whom each comes after. */
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
  const mixed = [shy, free, shy, api, shy].map((engine) => ({ engine }));

  test('come after nobody, unless their engine is best used alone', () => {
    expect(taken(mixed)).toEqual([[], [], ['agent0 +7'], [], ['agent2 +7']]);
  });

  test('all run side by side when that is asked for', () => {
    expect(taken(mixed, 'parallel')).toEqual([[], [], [], [], []]);
  });

  test('all come one after another when that is asked for', () => {
    expect(taken(mixed, 'sequential')).toEqual([
      [],
      ['agent0 +7'],
      ['agent1 +7'],
      ['agent2 +7'],
      ['agent3 +7']
    ]);
  });

  test('do not wait for one that cannot start', () => {
    const failure = { code: 'spawn_failed', message: '' } as const;
    expect(taken([{ engine: shy, failure, chat }, { engine: shy }])).toEqual([
      [],
      []
    ]);
    expect(holdersOf('shy', 'chat', store)).toEqual([]);
  });
});

describe('members on one chat', () => {
  const on = { engine: free, chat };

  test('come one after another, at once, however they are run', () => {
    expect(taken([on, { engine: free }, on, on], 'parallel')).toEqual([
      [],
      [],
      ['agent0 +0'],
      ['agent2 +0', 'agent0 +0']
    ]);
  });

  test('of an API have none when it was cleaned away since it was planned', () => {
    expect(() => taken([{ engine: api, chat }])).toThrow(
      'There is no agent "chat"'
    );
    store.create(recordWith({ agent_id: '0badcafe' }), 'x', 'x');
    const there = { id: '0badcafe', lastAgent: null };
    expect(taken([{ engine: api, chat: there }])).toEqual([[]]);
  });

  test('come after those of squads before', () => {
    taken([on]);
    const next = new Turns(
      { executionMode: undefined, sequentialDelayMs: 0 },
      store
    );
    const after = next.take({ ...on, agentId: 'later' });
    expect(after).toEqual([{ agentId: 'agent0', delayMs: 0 }]);
  });

  test('of another engine come after nobody', () => {
    expect(taken([on, { engine: cli('other'), chat }])).toEqual([[], []]);
  });

  test('come after who began it, where nobody has gone on yet', () => {
    const id = '0badcafe';
    store.create(recordWith({ agent_id: id, engine: 'api' }), 'x', 'x');
    const begun = { engine: api, chat: { id, lastAgent: id } };
    expect(taken([begun, begun])).toEqual([
      [`${id} +0`],
      ['agent0 +0', `${id} +0`]
    ]);
    store.end(id, outcomeWith());
    expect(taken([begun])).toEqual([['agent1 +0', 'agent0 +0']]);
  });

  test('do not come after one that gave its turn back', () => {
    const turns = new Turns(
      { executionMode: undefined, sequentialDelayMs: 0 },
      store
    );
    const one = { ...on, agentId: 'one' };
    const two = { ...on, agentId: 'two' };
    turns.take(one);
    turns.take(two);
    turns.giveBack(two);
    const after = turns.take({ ...on, agentId: 'three' });
    expect(after).toEqual([{ agentId: 'one', delayMs: 0 }]);
    expect(holdersOf('free', 'chat', store)).toEqual(['one', 'three']);
  });
});

test('nobody in a row comes after one that gave its turn back, or has passed', () => {
  const turns = new Turns(
    { executionMode: 'sequential', sequentialDelayMs: 0 },
    store
  );
  const take = (agentId: string) =>
    turns.take({ engine: free, agentId }).map((earlier) => earlier.agentId);
  expect(take('one')).toEqual([]);
  expect(take('two')).toEqual(['one']);
  turns.giveBack({ engine: free, agentId: 'two' });
  expect(take('three')).toEqual(['one']);
  turns.pass({ engine: free, agentId: 'three' });
  expect(take('four')).toEqual(['one']);
});

test.each([
  ['all programs', [free, free, api], 'parallel', [0, 1]],
  [
    'none of an engine twice that works alone',
    [shy, free, shy],
    undefined,
    [0, 1]
  ],
  ['the first one when they take turns', [free, shy, free], 'sequential', [0]],
  ['no program when an API is the first', [api, free], 'sequential', []]
] as const)('at once begin %s', (_, engines, executionMode, places) => {
  const members = engines.map((engine, index) => ({
    agentId: String(index),
    engine
  }));
  const begin = beginners(members, { executionMode, sequentialDelayMs: 0 });
  expect(begin.map(({ agentId }) => Number(agentId))).toEqual(places);
});

test('of a chat only the first begins, and none that cannot', () => {
  const failure = { code: 'spawn_failed', message: '' } as const;
  const members = [
    { agentId: 'a', engine: free, failure },
    { agentId: 'b', engine: free, chat },
    { agentId: 'c', engine: free, chat }
  ];
  const begin = beginners(members, { sequentialDelayMs: 0 });
  expect(begin.map(({ agentId }) => agentId)).toEqual(['b']);
});
