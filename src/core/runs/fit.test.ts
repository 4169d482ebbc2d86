import fc from 'fast-check';
import { expect, test } from 'vitest';
import { evenShare, type Part, sizeOf, tellWithin } from './fit.ts';

const needs = fc.array(fc.nat(5000), { minLength: 1, maxLength: 50 });

test('who needs less than an even share leaves the rest to the others', () => {
  expect(evenShare([10, 1000, 1000], 100)).toBe(45);
  expect(evenShare([1000, 10, 20, 1000], 100)).toBe(35);
  expect(evenShare([50, 50], 100)).toBe(Number.POSITIVE_INFINITY);
  expect(evenShare([51, 51], 100)).toBe(50);
  expect(evenShare([], -1)).toBe(0);
});

test('shares never take more than the room, and leave nothing worth sharing', () => {
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

test('a form that leaves its parts too little gives way to the next', () => {
  const part = letters(1000);
  const forms = [
    {
      answer: (told: (part: Part) => object) => ({
        facts: 'f'.repeat(500),
        ...told(part)
      }),
      least: 200
    },
    { answer: (told: (part: Part) => object) => ({ ...told(part) }), least: 0 }
  ];
  const within = (bytes: number) => tellWithin(forms, { chars: 20_000, bytes });
  expect(within(5000)).toHaveProperty('text', 'x'.repeat(1000));
  expect(within(800)).toHaveProperty('facts');
  expect(within(700)).toEqual({ text: 'x'.repeat(688) });
  expect(within(20)).toEqual({ text: 'x'.repeat(8) });
});

test('no more characters are told than may be, also where bytes are free', () => {
  const room = { chars: 50, bytes: Number.POSITIVE_INFINITY };
  const answer = (told: (part: Part) => object) => ({
    rows: [told(letters(10)), told(letters(1000)), told(letters(1000))]
  });
  expect(tellWithin([{ answer, least: 0 }], room)).toEqual({
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
