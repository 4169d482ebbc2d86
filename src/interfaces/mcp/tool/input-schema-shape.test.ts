import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { publishedSchema, shapeSchema } from './input-schema.ts';

const leaves = [
  () => z.string(),
  () => z.string().min(1).max(9).regex(/x/),
  () => z.string().describe('words').min(1),
  () => z.string().trim(),
  () => z.number(),
  () => z.number().min(0).max(9),
  () => z.number().positive().max(604_800),
  () => z.number().int(),
  () => z.number().int().min(1).max(50).describe('how many'),
  () => z.int().min(0),
  () => z.boolean(),
  () => z.enum(['all', 'any']),
  () => z.unknown()
];

/** Shapes that no built-in tool uses; zod converts them. */
const others = [
  () => z.literal('x'),
  () => z.union([z.string(), z.number()]),
  () => z.url(),
  () => z.string().uuid(),
  () => z.number().lt(5),
  () => z.number().multipleOf(3),
  () => z.int().positive(),
  () => z.enum({ one: 1 }),
  () => z.string().meta({ title: 'A' }),
  () => z.object({ a: z.string() }).catchall(z.string()),
  () => z.record(z.enum(['a', 'b']), z.string())
];

const { field } = fc.letrec<{ field: z.ZodType; shape: z.ZodType }>((tie) => ({
  shape: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(...leaves).map((make): z.ZodType => make()),
    tie('field').map((inner) => z.array(inner).min(1).max(9)),
    tie('field').map((inner) => z.record(z.string().min(1), inner)),
    tie('field').map((inner) => z.strictObject({ inner, more: z.string() })),
    tie('field').map((inner) => z.looseObject({ inner })),
    tie('field').map((inner) => z.object({ inner }))
  ),
  field: fc
    .tuple(
      tie('shape'),
      fc.constantFrom('as it is', 'optional', 'nullish', 'default'),
      fc.boolean()
    )
    .map(([inner, way, isDescribed]) => {
      const wrapped =
        way === 'optional'
          ? inner.optional()
          : way === 'nullish'
            ? inner.nullish()
            : way === 'default'
              ? z.enum(['all', 'any']).default('any')
              : inner;
      return isDescribed ? wrapped.describe('what it is') : wrapped;
    })
}));

test('the fast conversion of a shape gives the same schema as the general one', () => {
  let converted = 0;
  fc.assert(
    fc.property(fc.array(field, { maxLength: 4 }), (fields) => {
      const whole = z.strictObject(Object.fromEntries(fields.entries()));
      const schema = shapeSchema(whole);
      if (schema) converted += 1;
      if (schema) expect(schema).toEqual(publishedSchema(whole));
    }),
    { numRuns: 500, seed: 1 }
  );
  expect(converted).toBeGreaterThan(200);
});

test.each(leaves)('%s takes the fast conversion', (make) => {
  const whole = z.strictObject({ field: make() });
  expect(shapeSchema(whole)).toEqual(publishedSchema(whole));
});

test.each(others)('%s is left to the general conversion', (make) => {
  expect(shapeSchema(z.strictObject({ field: make() }))).toBeUndefined();
});
