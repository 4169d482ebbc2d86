import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { recordWith } from '../../../test/kit/servers/run-facts.ts';
import type { WatchedAgent } from '../../interfaces/board/watched-agent.ts';
import { agentLines, agentTable, fromOf, secondLine } from './agent-columns.ts';

beforeEach(() => {
  vi.stubEnv('NO_COLOR', '1');
});

afterEach(() => {
  vi.unstubAllEnvs();
});

function agent(changes: Partial<WatchedAgent> = {}): WatchedAgent {
  return {
    ...{ id: '0badcafe', engine: 'claude', model: undefined },
    ...{ state: 'running', isActive: true, seconds: 4.2, costUsd: undefined },
    ...{ changed: undefined, doing: undefined, task: 'look', heardAt: 0 },
    ...{ quietSeconds: 0, client: undefined, squad: undefined },
    endedAt: undefined,
    of: { record: recordWith(), status: 'running' },
    ...changes
  };
}

const lines = (changes: Partial<WatchedAgent>, seconds = 0, room = 120) =>
  agentLines([agent(changes)], seconds, room)
    .map((line) => line.trim())
    .filter(Boolean);

describe('the line of an agent', () => {
  test('leaves out columns in which nothing is known', () => {
    expect(lines({})).toEqual([
      'ID        STATE    ENGINE  TIME  TASK',
      '0badcafe  running  claude    4s  look'
    ]);
  });

  test('has its model, cost, lines and end', () => {
    const [headings, row] = lines({
      ...{ model: 'm1', costUsd: 0.5, isActive: false, state: 'completed' },
      changed: { added: 2, removed: 1, isShared: true },
      endedAt: new Date().toISOString()
    });
    expect(headings).toMatch(/MODEL .*COST .*LINES .*ENDED .*TASK$/);
    expect(row).toMatch(/ m1 .* 4\.2s .*\$0\.5.* \+2 -1 shared .* look$/);
    expect(lines({ changed: { added: 2, removed: 1 } })[1]).toMatch(
      / \+2 -1 +look$/
    );
  });

  test('has the time until now while it is at work', () => {
    expect(lines({}, 3)[1]).toContain(' 7s ');
    expect(lines({ isActive: false }, 3)[1]).toContain(' 4.2s ');
  });
});

describe('the second line of an agent', () => {
  const second = (changes: Partial<WatchedAgent>, seconds = 0, room = 120) =>
    secondLine(agent(changes), seconds, room);

  test.each<[string | undefined, Partial<WatchedAgent>, number]>([
    ['no output yet', {}, 0],
    ['reading', { doing: 'reading' }, 0],
    ['editor · reading', { doing: 'reading', client: 'editor' }, 0],
    [
      'agent 0badbad0 · s1 m · reading',
      {
        ...{ doing: 'reading', client: 'editor' },
        squad: { id: 's1', name: 's1 m' },
        of: { record: recordWith({ parent: '0badbad0' }), status: 'running' }
      },
      0
    ],
    ['no output yet', { quietSeconds: 9.9 }, 0],
    ['quiet 10s · no output yet', { quietSeconds: 8 }, 2],
    [undefined, { isActive: false }, 0],
    ['It broke.', { isActive: false, doing: 'It broke.', client: 'x' }, 99]
  ])('is "%s"', (text, changes, seconds) => {
    expect(second(changes, seconds)?.replace(/10\.?0?s/, '10s')).toBe(text);
  });

  test('has only the beginning of long names, and fits the room', () => {
    const squad = { id: 's', name: 's'.repeat(60) };
    const [client, name] = (
      second({ client: 'c'.repeat(30), squad, doing: 'x' }) ?? ''
    ).split(' · ');
    expect([client, name]).toEqual([
      `${'c'.repeat(23)}…`,
      `${'s'.repeat(47)}…`
    ]);
    expect(second({ doing: 'x'.repeat(50) }, 0, 20)).toHaveLength(20);
  });
});

test('the table has where an agent came from, its squad and its activity', () => {
  const [headings, first, other] = agentTable([
    agent({
      ...{ client: 'editor', squad: { id: 's', name: 's1 m' } },
      doing: 'reading'
    }),
    agent()
  ])
    .split('\n')
    .map((line) => line.trim());
  expect(headings).toMatch(/FROM +SQUAD +TASK +DOING$/);
  expect(first).toMatch(/editor +s1 m +look +reading$/);
  expect(other).toMatch(/- +- +look +-$/);
});

test('an agent comes from its parent, its client or neither', () => {
  const record = recordWith({ parent: '0badbad0' });
  const of = { record, status: 'running' } as const;
  expect(fromOf(agent({ of, client: 'editor' }))).toBe('agent 0badbad0');
  expect(fromOf(agent({ client: 'editor' }))).toBe('editor');
  expect(fromOf(agent())).toBe('');
});
