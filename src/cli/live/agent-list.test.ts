import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import type { RunRecord } from '../../core/runs/run.ts';
import type { WatchedAgent } from '../../interfaces/board/watched-agent.ts';
import { widthOf } from '../output/text.ts';
import { AgentList } from './agent-list.ts';

const record: RunRecord = {
  ...{ v: 1, agent_id: '', engine: 'codex', label: 'Codex', kind: 'cli' },
  ...{ model: null, access: 'read', enforcement: 'enforced', tools: null },
  ...{ cwd: '/project', task: '', prompt_chars: 0, system_prompt: null },
  ...{ timeout_seconds: 1, idle_timeout_seconds: 0, output_limit_bytes: 0 },
  ...{ on_disconnect: 'keep', request_id: null, created_at: '', parent: null },
  ...{ owner: { pid: 1, start: '', place: '' }, depth: 0, continues: null },
  session_id: null
};

function agent(index: number, more: Partial<WatchedAgent> = {}): WatchedAgent {
  return {
    id: index.toString(16).padStart(8, '0'),
    ...{ engine: 'codex', model: undefined, state: 'running', isActive: true },
    ...{ seconds: 3, costUsd: undefined, changed: undefined },
    ...{ doing: `doing ${index}`, task: `task ${index}`, endedAt: undefined },
    ...{
      quietSeconds: 0,
      heardAt: undefined,
      client: undefined,
      squad: undefined
    },
    of: { record, status: 'running' },
    ...more
  };
}

const today = {
  ...{ day: '2026-11-22', ended: 0, notCompleted: 0, costsUnknown: 0 },
  costUsd: undefined
};

function listOf(count: number): AgentList {
  const list = new AgentList();
  const agents = Array.from({ length: count }, (_, index) => agent(index));
  list.show({ agents, isUnused: false, settling: [], today });
  return list;
}

function shown(list: AgentList, columns = 80, rows = 23): string[] {
  return list.render({ columns, rows }).map(stripVTControlCharacters);
}

const selectedIn = (lines: string[]) =>
  lines
    .filter((line) => line.startsWith('> '))
    .map((line) => line.slice(2, 10));

test('two hundred agents scroll, and the selected one is always visible', () => {
  const list = listOf(200);
  expect(selectedIn(shown(list))).toEqual(['00000000']);
  for (let count = 0; count < 30; count += 1) list.onKey('j');
  expect(selectedIn(shown(list))).toEqual(['0000001e']);
  list.onKey('end');
  expect(selectedIn(shown(list))).toEqual(['000000c7']);
  expect(shown(list)).toHaveLength(23);
  list.onKey('page-up');
  expect(selectedIn(shown(list))).toEqual(['000000be']);
  list.onKey('home');
  list.onKey('up');
  expect(selectedIn(shown(list))).toEqual(['00000000']);
});

test.each([
  [60, 9],
  [80, 23],
  [120, 39]
])('at %i columns no line is too wide', (columns, rows) => {
  const list = new AgentList();
  const wide = '日本語'.repeat(60);
  const more = { engine: 'cursor-agent', model: 'x'.repeat(90), costUsd: 12.5 };
  const changed = { added: 12_345, removed: 54_321 };
  const agents = [agent(1, { doing: wide, task: wide, changed, ...more })];
  list.show({ agents, isUnused: false, settling: [], today });
  const lines = shown(list, columns, rows);
  expect(lines).toHaveLength(rows);
  expect(selectedIn(lines)).toEqual(['00000001']);
  for (const line of lines) expect(widthOf(line)).toBeLessThan(columns);
});

test('the selection follows its agent, and moves on when the agent is removed', () => {
  const list = listOf(5);
  list.onKey('down');
  list.onKey('down');
  const agents = [4, 3, 2, 1].map((index) => agent(index));
  list.show({ agents, isUnused: false, settling: [], today });
  expect(list.selected?.id).toBe('00000002');
  const rest = agents.filter(({ id }) => id !== '00000002');
  list.show({ agents: rest, isUnused: false, settling: [], today });
  expect(list.selected?.id).toBe('00000001');
  list.show({ agents: [], isUnused: true, settling: [], today });
  expect(list.selected).toBeUndefined();
});

test('a filter searches everything that is shown of an agent', () => {
  const list = listOf(50);
  list.filter = 'TASK 49';
  expect(list.selected?.id).toBe('00000031');
  expect(selectedIn(shown(list))).toEqual(['00000031']);
  list.filter = 'nonsense';
  expect(shown(list).join('\n')).toContain('No agent has "nonsense"');
  expect(list.onKey('down')).toBe(true);
  list.filter = '';
  expect(shown(list)).toHaveLength(23);
});

test('the line below the list is safe to print for any record', () => {
  const list = new AgentList();
  const label = 'Co\u001b]0;dex\u0007';
  const of = { record: { ...record, label }, status: 'running' as const };
  list.show({
    agents: [agent(1, { of })],
    today,
    isUnused: false,
    settling: []
  });
  const lines = list.render({ columns: 80, rows: 23 });
  expect(lines.at(-2)).toContain('Co ]0;dex  00000001');
});

test('by squad, members follow the first of them', () => {
  const member = (index: number, id: string, name: string) =>
    agent(index, { squad: { id, name: `${id} ${name}` } });
  const agents = [
    member(1, 'squad-a', 'm1'),
    agent(2),
    member(3, 'squad-b', 'm1'),
    member(4, 'squad-a', '試験者🎉')
  ];
  const list = new AgentList();
  list.show({ agents, isUnused: false, settling: [], today });
  const order = () =>
    shown(list, 60).flatMap((line) => /^[> ] 0{7}(\d)/.exec(line)?.[1] ?? []);
  expect(order()).toEqual(['1', '2', '3', '4']);
  list.isBySquad = true;
  expect(order()).toEqual(['1', '4', '2', '3']);
  expect(shown(list, 60)).toContainEqual(
    '            squad-a 試験者🎉 · doing 4'
  );
  list.filter = '試験者';
  expect(order()).toEqual(['4']);
});

test('an agent names the agent that has started it', () => {
  const list = new AgentList();
  const parent = { ...record, parent: '0badcafe' };
  const of = { record: parent, status: 'running' as const };
  const one = agent(1, { of, client: 'claude-code', quietSeconds: 40.2 });
  list.show({ agents: [one], isUnused: false, settling: [], today });
  const lines = shown(list);
  expect(lines).toContain('            quiet 40s · agent 0badcafe · doing 1');
  expect(lines.at(-2)).toContain('from agent 0badcafe (claude-code)');
});

test('an end without an error takes one line, and one with an error two', () => {
  const list = new AgentList();
  const ended = { isActive: false, endedAt: '2026-11-22T10:00:00Z' };
  const agents = [
    agent(1, { ...ended, state: 'completed', doing: undefined }),
    agent(2, { ...ended, state: 'failed', doing: 'no more credit' }),
    agent(3, { ...ended, state: 'completed', doing: undefined })
  ];
  list.show({ agents, isUnused: false, settling: [], today });
  expect(shown(list).slice(2, 6)).toEqual([
    expect.stringMatching(/^> 00000001 {2}completed .* task 1/),
    expect.stringMatching(/^ {2}00000002 {2}failed .* task 2/),
    '            no more credit',
    expect.stringMatching(/^ {2}00000003 {2}completed .* task 3/)
  ]);
});
