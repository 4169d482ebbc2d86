import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import type { RunRecord } from '../../core/runs/run.ts';
import { widthOf } from '../output/text.ts';
import { AgentList } from './agent-list.ts';
import type { WatchedAgent } from './watched-agent.ts';

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
  list.show({ agents, isUnused: false, today });
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
  expect(selectedIn(shown(list))).toEqual(['000000b4']);
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
  list.show({ agents, isUnused: false, today });
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
  list.show({ agents, isUnused: false, today });
  expect(list.selected?.id).toBe('00000002');
  const rest = agents.filter(({ id }) => id !== '00000002');
  list.show({ agents: rest, isUnused: false, today });
  expect(list.selected?.id).toBe('00000001');
  list.show({ agents: [], isUnused: true, today });
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
  list.show({ agents: [agent(1, { of })], today, isUnused: false });
  const lines = list.render({ columns: 80, rows: 23 });
  expect(lines.at(-2)).toContain('Co ]0;dex  00000001');
});
