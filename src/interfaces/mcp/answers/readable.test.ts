import { expect, test } from 'vitest';
import type { Facts } from '../../../answers/budget.ts';
import { readable } from './readable.ts';

const agent = { agent_id: '0badcafe', status: 'completed' };

test.each<[string, Facts]>([
  ['count: 2', { count: 2 }],
  ['ids: none', { ids: [] }],
  ['ids (2): a, b', { ids: ['a', 'b'] }],
  ['one: 1\ntwo: 2', { one: 1, two: 2 }],
  ['✓ 0badcafe completed\nagent_id: 0badcafe · status: completed', agent],
  [
    'agents (1):\n\n… 0badcafe running\nagent_id: 0badcafe · status: running',
    { agents: [{ ...agent, status: 'running' }] }
  ],
  [
    'agents (2):\n\n• a\nid: a\n\n• b\nid: b\n\nmore: 1',
    { agents: [{ id: 'a' }, { id: 'b' }], more: 1 }
  ],
  ['rows (1):\n\nx: 1', { rows: [{ x: 1 }] }]
])('the text is "%s"', (text, facts) => {
  expect(readable(facts)).toBe(text);
});

test.each([
  ['completed', '✓'],
  ['running', '…'],
  ['queued', '…'],
  ['asking', '…'],
  ['failed', '✗'],
  ['timeout', '✗']
])('an agent that is %s has the mark %s', (status, mark) => {
  expect(readable({ ...agent, status })[0]).toBe(mark);
});

test('the first line of an agent has its engine, status, time and cost', () => {
  const first = (more: Facts) => readable({ ...agent, ...more }).split('\n')[0];
  expect(first({ agent_type: 'codex', duration_seconds: 25 })).toBe(
    '✓ 0badcafe codex completed, 25 s'
  );
  expect(first({ type: 'codex', sec: 2, cost_usd: 0.12 })).toBe(
    '✓ 0badcafe codex completed, 2 s, $0.12'
  );
  expect(first({ cost_usd: null })).toBe('✓ 0badcafe completed');
});

test('a result, a long text and one of several lines get lines of their own', () => {
  const lines = (more: Facts) =>
    readable({ ...agent, ...more })
      .split('\n')
      .slice(1)
      .map((line) => line.slice(0, 9));
  expect(lines({ result: 'ok' })).toEqual(['result:', '> ok', 'agent_id:']);
  expect(lines({ note: 'x'.repeat(200) })).toEqual(['agent_id:']);
  expect(lines({ note: 'x'.repeat(201) })).toEqual([
    ...['note:', '> xxxxxxx', 'agent_id:']
  ]);
  expect(lines({ note: 'a\nb' })).toEqual(['note:', '> a', '> b', 'agent_id:']);
  expect(lines({ note: null, error: '', result: 7 })).toEqual(['agent_id:']);
});
