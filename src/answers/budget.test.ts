import fc from 'fast-check';
import { expect, test } from 'vitest';
import { evenShare, fitInto, type Part, type Put, sizeOf } from './budget.ts';

const needs = fc.array(fc.nat(5000), { minLength: 1, maxLength: 50 });

test('a need below the even share leaves the rest to larger needs', () => {
  expect(evenShare([10, 1000, 1000], 100)).toBe(45);
  expect(evenShare([1000, 10, 20, 1000], 100)).toBe(35);
  expect(evenShare([50, 50], 100)).toBe(Number.POSITIVE_INFINITY);
  expect(evenShare([51, 51], 100)).toBe(50);
  expect(evenShare([], -1)).toBe(0);
});

test('shares never exceed the total, and leave less than one unit each', () => {
  fc.assert(
    fc.property(needs, fc.integer({ min: -100, max: 60_000 }), (all, room) => {
      const share = evenShare(all, room);
      const taken = all
        .map((need) => Math.min(need, share))
        .reduce((sum, one) => sum + one, 0);
      expect(taken).toBeLessThanOrEqual(Math.max(0, room));
      if (share < Math.max(...all))
        expect(Math.max(0, room) - taken).toBeLessThan(all.length);
    })
  );
});

test('a form that leaves too little for its parts gives way to the next one', () => {
  const part = letters(1000);
  const forms = [
    {
      answer: (put: Put) => ({ facts: 'f'.repeat(500), ...put(part) }),
      minBytes: 200
    },
    { answer: (put: Put) => put(part) }
  ];
  const within = (bytes: number) => fitInto(forms, { chars: 20_000, bytes });
  expect(within(5000)).toHaveProperty('text', 'x'.repeat(1000));
  expect(within(800)).toHaveProperty('facts');
  expect(within(700)).toEqual({ text: 'x'.repeat(688) });
  expect(within(20)).toEqual({ text: 'x'.repeat(8) });
});

test('the budget of characters holds even when bytes are unlimited', () => {
  const budget = { chars: 50, bytes: Number.POSITIVE_INFINITY };
  const answer = (put: Put) => ({
    rows: [put(letters(10)), put(letters(1000)), put(letters(1000))]
  });
  expect(fitInto(answer, budget)).toEqual({
    rows: [10, 20, 20].map((count) => ({ text: 'x'.repeat(count) }))
  });
});

function letters(count: number): Part {
  return {
    chars: count,
    within: ({ chars, bytes }) => ({
      text: 'x'.repeat(
        Math.max(0, Math.min(count, chars, bytes - sizeOf({ text: '' })))
      )
    })
  };
}
