import fc from 'fast-check';
import { expect, test } from 'vitest';
import { shortName } from '../core/text.ts';
import { sizeOf } from './budget.ts';
import { endsPart, linePart, listPart, slicePart } from './truncate.ts';

const letters = ['a', '"', '\\', '\n', '\u0001', 'é', '한', '😀', '\u2028'];
const text = fc
  .array(fc.constantFrom(...letters), { minLength: 1, maxLength: 3000 })
  .map((found) => found.join(''));
const room = fc.record({
  chars: fc.integer({ min: 1, max: 4000 }),
  bytes: fc.integer({ min: 100, max: 6000 })
});
const mark = '\n…\n';

test('a long text is cut to its two ends within the budget', () => {
  fc.assert(
    fc.property(text, room, (whole, budget) => {
      const ends = { head: whole, tail: '', totalChars: whole.length };
      const facts = endsPart('result', ends, {
        mark,
        fields: ({ next, hasEnd }) => ({ next, hasEnd })
      }).within(budget);
      expect(sizeOf(facts)).toBeLessThanOrEqual(budget.bytes);
      const result = String(facts.result);
      expect(result.length).toBeLessThanOrEqual(budget.chars);
      expect(isWellFormed(result)).toBe(true);
      if (facts.next === undefined) {
        expect(result).toBe(whole);
        return;
      }
      const next = Number(facts.next);
      const end = facts.hasEnd ? result.slice(next + mark.length) : '';
      expect(whole.startsWith(result.slice(0, next))).toBe(true);
      expect(whole.endsWith(end)).toBe(true);
      expect(next + end.length).toBeLessThan(whole.length);
    })
  );
});

test('two ends that were read separately are joined by the mark', () => {
  const ends = {
    head: 'a'.repeat(600),
    tail: 'z'.repeat(600),
    totalChars: 1e6
  };
  const words = { mark, fields: ({ next }: { next: number }) => ({ next }) };
  const facts = endsPart('result', ends, words).within({
    chars: 600,
    bytes: Number.POSITIVE_INFINITY
  });
  const end = 'z'.repeat(600 - mark.length - Number(facts.next));
  expect(facts.result).toBe(`${'a'.repeat(Number(facts.next))}${mark}${end}`);
  expect(facts.next).toBe(Math.ceil((600 - mark.length) * 0.6));
});

test('consecutive slices make up the whole text', () => {
  fc.assert(
    fc.property(text, room, (whole, budget) => {
      let read = '';
      for (;;) {
        const facts = slicePart(
          'result',
          read.length,
          { text: whole.slice(read.length), totalChars: whole.length },
          (next) => ({ next })
          // Every budget has room for at least one character.
        ).within({ ...budget, chars: budget.chars + 2 });
        expect(sizeOf(facts)).toBeLessThanOrEqual(budget.bytes);
        read += String(facts.result);
        if (facts.next === undefined) break;
        expect(facts.next).toBe(read.length);
      }
      expect(read).toBe(whole);
    })
  );
});

test('a cut line ends in the mark within the budget', () => {
  fc.assert(
    fc.property(text, room, (line, budget) => {
      const facts = linePart('error', line, '… [see there]').within(budget);
      expect(sizeOf(facts)).toBeLessThanOrEqual(budget.bytes);
      const error = String(facts.error);
      expect(error.length).toBeLessThanOrEqual(budget.chars);
      if (error === line) return;
      expect(error).toMatch(/…( \[see there\])?$/);
      expect(line.startsWith(error.split('…')[0] ?? '')).toBe(true);
    })
  );
  expect(linePart('error', null).within({ chars: 0, bytes: 0 })).toEqual({
    error: null
  });
});

test('a cut list comes with its total', () => {
  fc.assert(
    fc.property(fc.array(text, { maxLength: 30 }), room, (items, budget) => {
      const facts = listPart('denials', items, true).within(budget);
      expect(sizeOf(facts)).toBeLessThanOrEqual(budget.bytes);
      const denials = facts.denials;
      const isWhole = facts.denials_total === undefined;
      expect(denials).toEqual(
        isWhole
          ? items
          : items.slice(0, Array.isArray(denials) ? denials.length : 0)
      );
      if (!isWhole) expect(facts.denials_total).toBe(items.length);
    })
  );
});

test('a list of rows is limited by bytes alone', () => {
  const rows = Array.from({ length: 100 }, (_, row) => ({ row }));
  const within = (bytes: number) =>
    listPart('rows', rows).within({ chars: 0, bytes });
  expect(within(2000)).toEqual({ rows });
  expect(within(100)).toEqual({ rows: rows.slice(0, 7), rows_total: 100 });
});

test('a long name is cut to its beginning', () => {
  expect(shortName('gpt-5')).toBe('gpt-5');
  expect(shortName('😀'.repeat(101))).toBe(`${'😀'.repeat(100)}…`);
  expect(isWellFormed(shortName(`a${'😀'.repeat(101)}`))).toBe(true);
});

function isWellFormed(text: string): boolean {
  return Buffer.from(text).toString() === text;
}
