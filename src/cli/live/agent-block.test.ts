import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { widthOf } from '../output/text.ts';
import { type Activity, blockLines } from './agent-block.ts';

const now = Date.parse('2026-11-22T10:00:00Z');

function activities(count: number, more: Partial<Activity> = {}): Activity[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `0000000${index}`,
    engine: index % 2 ? 'claude' : 'codex',
    since: now - 1000 * (index + 1) ** 3,
    isQueued: false,
    doing: 'Reading',
    ...more
  }));
}

function lines(shown: Activity[], columns = 80, rows = 24): string[] {
  const found = blockLines(shown, 0, { columns, rows }, now);
  return found.map(stripVTControlCharacters);
}

test('the columns of a block are aligned', () => {
  expect(lines(activities(5))).toEqual([
    '⠋ 00000000  codex       1.0 s  Reading',
    '⠋ 00000001  claude      8.0 s  Reading',
    '⠋ 00000002  codex        27 s  Reading',
    '⠋ 00000003  claude  1 min 4 s  Reading',
    '⠋ 00000004  codex   2 min 5 s  Reading'
  ]);
});

test('waiting agents have no spinner', () => {
  expect(lines(activities(1, { isQueued: true }))[0]).toMatch(/^· 00000000/);
});

test.each([40, 60, 80])('no line is wider than %i columns', (columns) => {
  for (const doing of ['x'.repeat(200), '日本語'.repeat(50)])
    for (const line of lines(activities(3, { doing }), columns)) {
      expect(widthOf(line)).toBeLessThan(columns);
      expect(line).toMatch(/…$/);
    }
});

test('agents without a line are counted', () => {
  expect(lines(activities(9), 80, 11)).toHaveLength(9);
  expect(lines(activities(9), 80, 10).slice(-2)).toEqual([
    expect.stringContaining('00000006'),
    '+ 2 more'
  ]);
  expect(lines(activities(9), 80, 2)).toEqual(['+ 9 more']);
  expect(lines([])).toEqual([]);
});
