import v8 from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import type {
  FinishedRecord,
  SpawnedRecord
} from '../journal/journal-record.ts';
import { DayTotals } from './day-totals.ts';

const day = '2026-11-21';

test('an agent counts once, however often it is recorded and read', () => {
  const totals = new DayTotals();
  totals.selectDay(day);
  const story = [spawned('1'), finished('1'), finished('1'), spawned('1')];
  for (const _ of [1, 2])
    for (const [index, record] of story.entries())
      totals.take(record, index + 1);
  expect(totals.table()).toContain('| Claude | 1 | 2.0s | $0.5000 |');
});

test('an agent that runs past midnight counts for the day of its spawn', () => {
  const totals = new DayTotals();
  totals.selectDay(day);
  totals.take(spawned('1'), 1);
  totals.take(spawned('2', '2026-11-22T00:00:00.001Z'), 2);
  expect(totals.table()).toContain('| Claude | 1 | 0.0s | unknown |');
  totals.selectDay('2026-11-22');
  totals.take(finished('1'), 3);
  totals.take(finished('2'), 4);
  expect(totals.table()).toContain('| Claude | 1 | 2.0s | $0.5000 |');
});

test('answers of agents are not kept in memory', () => {
  v8.setFlagsFromString('--expose-gc');
  const gc: () => void = runInNewContext('gc');
  const totals = new DayTotals();
  totals.selectDay(day);
  const before = heapAfter(gc);
  for (let agent = 0; agent < 20_000; agent += 1) {
    totals.take(spawned(`${agent}`), 2 * agent + 1);
    totals.take(finished(`${agent}`), 2 * agent + 2);
  }
  expect(heapAfter(gc) - before).toBeLessThan(1_000_000);
  expect(totals.table()).toContain('| Claude | 20000 | 40000.0s |');
});

test.each([
  [999, '| Claude | 1000 |'],
  [1000, '| Claude | 1002 |']
])('a duplicate is known after %i other ends: %s', (others, row) => {
  const totals = new DayTotals();
  totals.selectDay(day);
  let offset = 0;
  const take = (record: ReturnType<typeof spawned | typeof finished>) => {
    offset += 1;
    totals.take(record, offset);
  };
  for (let agent = 0; agent <= others; agent += 1) {
    take(spawned(`${agent}`));
    take(finished(`${agent}`));
  }
  take(spawned('0'));
  expect(totals.table()).toContain(row);
});

test('a day has a row for each engine, and a cost that is not all known says so', () => {
  const totals = new DayTotals();
  expect(totals.table()).toContain('| - | 0 | - | - |');
  totals.selectDay(day);
  totals.take(spawned('0', '2026-11-20T23:59:59.999Z'), 1);
  expect(totals.table()).toContain('| - | 0 | - | - |');
  totals.take(spawned('1'), 2);
  totals.take(spawned('2'), 3);
  totals.take({ ...spawned('3'), label: 'Codex' }, 4);
  totals.take(finished('1'), 5);
  totals.take({ ...finished('2'), cost_usd: null }, 6);
  totals.take(finished('unknown'), 7);
  expect(totals.table().split('\n').slice(2)).toEqual([
    '| Claude | 2 | 4.0s | $0.5000 (unknown for 1 of 2) |',
    '| Codex | 1 | 0.0s | unknown |'
  ]);
  totals.selectDay('2026-11-22');
  totals.selectDay(day);
  expect(totals.table()).toContain('| - | 0 | - | - |');
});

function heapAfter(gc: () => void): number {
  gc();
  return process.memoryUsage().heapUsed;
}

const chain = { writer: 'w', n: 1, prev: '', at: `${day}T12:00:00.000Z` };

function spawned(agent_id: string, created_at = chain.at) {
  const record: SpawnedRecord = {
    ...{ type: 'spawned', agent_id, engine: 'claude', label: 'Claude' },
    ...{ kind: 'cli', model: null, tools: null, access: 'full' },
    ...{ enforcement: 'asked', cwd: '/project', task: 'x', parent: null },
    ...{ continues: null, created_at, prompt: { chars: 1, text: 'x' } }
  };
  return { ...record, ...chain };
}

function finished(agent_id: string) {
  const text = `${agent_id} says this. `.repeat(100);
  const record: FinishedRecord = {
    ...{ type: 'finished', agent_id, status: 'completed', error: null },
    ...{ error_code: null, model: null, exit_code: 0, cost_usd: 0.5 },
    ...{ usage: null, duration_ms: 2000, completed_at: chain.at },
    result: { chars: text.length, text }
  };
  return { ...record, ...chain };
}
