import { expect, test } from 'vitest';
import { z } from 'zod';
import { inputSchemaOf } from './input-schema.ts';

function published(shape: z.ZodObject) {
  return inputSchemaOf(shape).properties;
}

test('names, types, choices, defaults and descriptions are published', () => {
  const shape = z.strictObject({
    mode: z.enum(['all', 'any']).default('all').describe('When'),
    limit: z.number().int().min(1).max(100).default(3),
    dry: z.boolean().optional()
  });
  expect(published(shape)).toEqual({
    mode: {
      type: 'string',
      enum: ['all', 'any'],
      default: 'all',
      description: 'When'
    },
    limit: { type: 'integer', minimum: 1, maximum: 100, default: 3 },
    dry: { type: 'boolean' }
  });
});

test('limits that only an invalid call would meet are not published', () => {
  const shape = z.strictObject({
    name: z.string().min(1).max(80).regex(/\S/),
    seconds: z.number().positive().max(604_800),
    offset: z.number().int().min(0),
    names: z.array(z.string().min(1)).min(1).max(9),
    env: z.record(z.string().regex(/^\w+$/), z.string().max(9))
  });
  expect(published(shape)).toEqual({
    name: { type: 'string' },
    seconds: { type: 'number' },
    offset: { type: 'integer', minimum: 0 },
    names: { type: 'array', items: { type: 'string' } },
    env: { type: 'object', additionalProperties: { type: 'string' } }
  });
});

test('a nullable value is published with both of its types', () => {
  const shape = z.strictObject({
    cursor: z.string().max(9).nullish().describe('Where'),
    seconds: z.number().min(0).nullish(),
    mode: z.enum(['all', 'any']).nullish(),
    either: z.union([z.string(), z.object({}), z.null()])
  });
  expect(published(shape)).toMatchObject({
    cursor: { type: ['string', 'null'], description: 'Where' },
    seconds: { type: ['number', 'null'] },
    mode: {
      anyOf: [{ type: 'string', enum: ['all', 'any'] }, { type: 'null' }]
    },
    either: { anyOf: expect.toSatisfy((all) => all.length === 3) }
  });
});
