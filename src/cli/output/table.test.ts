import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { alignedRows, columns, fitColumns, gap, table } from './table.ts';

test('a cell stays on its line and cannot control the terminal', () => {
  const hostile = 'a\u001b]0;title\u0007\nb\u009b2J';
  const color = (text: string) => `<${text}>`;
  expect(
    alignedRows(
      [{ heading: 'ONE' }, { heading: 'TWO' }],
      [[hostile, { text: hostile, color }]]
    )
  ).toBe('a ]0;title b 2J  <a ]0;title b 2J>\n');
});

test('a table may have more rows than a call has arguments', () => {
  const rows = Array.from({ length: 200_000 }, (_, index) => [`${index}`]);
  expect(table(['N'], rows)).toMatch(/\n199999\n$/);
});

test('a table for a terminal that reports no width fits in 80 columns', () => {
  const { isTTY, columns: width } = process.stdout;
  onTestFinished(
    () => void Object.assign(process.stdout, { isTTY, columns: width })
  );
  const rows = [['x'.repeat(200)]];
  const widthOn = (terminal: object) => {
    Object.assign(process.stdout, terminal);
    return columns(rows).length - 1;
  };
  expect(widthOn({ isTTY: true, columns: 0 })).toBe(80);
  expect(widthOn({ isTTY: true, columns: 100 })).toBe(100);
  expect(widthOn({ isTTY: false, columns: 0 })).toBe(200);
});

const id = { width: 8 };
const engine = { width: 12, minWidth: 8 };
const cost = { width: 7, dropOrder: 1 };
const ended = { width: 10, dropOrder: 2 };
const task = { width: 90, minWidth: 16 };

test('columns that fit keep their width', () => {
  expect(fitColumns([id, engine, task], 114)).toEqual([8, 12, 90]);
  expect(fitColumns([id, task], Number.POSITIVE_INFINITY)).toEqual([8, 90]);
});

test('the widest column is cut first', () => {
  expect(fitColumns([id, engine, cost, task], 80)).toEqual([8, 12, 7, 47]);
  expect(fitColumns([id, engine, cost, task], 49)).toEqual([8, 12, 7, 16]);
});

test('the least important column is left out when cutting is not enough', () => {
  const all = [id, engine, cost, ended, task];
  expect(fitColumns(all, 57)).toEqual([8, 8, 7, 10, 16]);
  expect(fitColumns(all, 56)).toEqual([8, 12, undefined, 10, 20]);
  expect(fitColumns(all, 40)).toEqual([8, 12, undefined, undefined, 16]);
});

test('a column that cannot be cut stays whole on any terminal', () => {
  expect(fitColumns([id, engine, cost, task], 10)).toEqual([
    8,
    8,
    undefined,
    16
  ]);
});

const column = fc.record(
  {
    width: fc.integer({ min: 1, max: 200 }),
    minWidth: fc.integer({ min: 1, max: 30 }),
    dropOrder: fc.integer({ min: 1, max: 5 })
  },
  { requiredKeys: ['width'] }
);

test('a line is never longer than the terminal is wide, if that is possible', () => {
  fc.assert(
    fc.property(
      fc.array(column, { maxLength: 8 }),
      fc.integer({ min: 20, max: 200 }),
      (columns, room) => {
        const widths = fitColumns(columns, room).flatMap((one) => one ?? []);
        const length = widths.reduce((sum, one) => sum + one, 0);
        const line = length + gap.length * Math.max(0, widths.length - 1);
        const firm = columns
          .filter(({ dropOrder }) => dropOrder === undefined)
          .map(({ width, minWidth = width }) => Math.min(width, minWidth));
        const firmest =
          firm.reduce((sum, one) => sum + one, 0) +
          gap.length * Math.max(0, firm.length - 1);
        expect(line).toBeLessThanOrEqual(Math.max(room, firmest));
      }
    )
  );
});
