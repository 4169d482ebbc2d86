import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fitColumns, gap } from './fit-columns.ts';

const id = { width: 8 };
const engine = { width: 12, least: 8 };
const cost = { width: 7, goes: 1 };
const ended = { width: 10, goes: 2 };
const task = { width: 90, least: 16 };

test('what fits is as wide as it wants', () => {
  expect(fitColumns([id, engine, task], 114)).toEqual([8, 12, 90]);
  expect(fitColumns([id, task], Number.POSITIVE_INFINITY)).toEqual([8, 90]);
});

test('the widest is cut first', () => {
  expect(fitColumns([id, engine, cost, task], 80)).toEqual([8, 12, 7, 47]);
  expect(fitColumns([id, engine, cost, task], 49)).toEqual([8, 12, 7, 16]);
});

test('what is of least worth goes where cutting does not help', () => {
  const all = [id, engine, cost, ended, task];
  expect(fitColumns(all, 57)).toEqual([8, 8, 7, 10, 16]);
  expect(fitColumns(all, 56)).toEqual([8, 12, undefined, 10, 20]);
  expect(fitColumns(all, 40)).toEqual([8, 12, undefined, undefined, 16]);
});

test('what must not be cut is whole, however narrow it gets', () => {
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
    least: fc.integer({ min: 1, max: 30 }),
    goes: fc.integer({ min: 1, max: 5 })
  },
  { requiredKeys: ['width'] }
);

test('a line is never longer than the room, where that can be', () => {
  fc.assert(
    fc.property(
      fc.array(column, { maxLength: 8 }),
      fc.integer({ min: 20, max: 200 }),
      (columns, room) => {
        const widths = fitColumns(columns, room).flatMap((one) => one ?? []);
        const length = widths.reduce((sum, one) => sum + one, 0);
        const line = length + gap.length * Math.max(0, widths.length - 1);
        const firm = columns
          .filter(({ goes }) => goes === undefined)
          .map(({ width, least = width }) => Math.min(width, least));
        const firmest =
          firm.reduce((sum, one) => sum + one, 0) +
          gap.length * Math.max(0, firm.length - 1);
        expect(line).toBeLessThanOrEqual(Math.max(room, firmest));
      }
    )
  );
});
