import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { packageRoot } from '../../test/kit/judges/documents.ts';
import { defaultConfig } from './defaults.ts';
import { configSchema } from './schema.ts';

interface Described {
  description?: string;
  properties?: Record<string, Described>;
  additionalProperties?: Described | boolean;
  anyOf?: Described[];
}

const nodeSchema: z.ZodType<Described> = z.lazy(() =>
  z.looseObject({
    description: z.string().exactOptional(),
    properties: z.record(z.string(), nodeSchema).exactOptional(),
    additionalProperties: z.union([z.boolean(), nodeSchema]).exactOptional(),
    anyOf: z.array(nodeSchema).exactOptional()
  })
);

interface Key {
  key: string;
  text: string;
}

/** The path and description of every key, as an editor shows them. */
function described(node: Described, path = ''): Key[] {
  const { properties = {}, additionalProperties: others, anyOf = [] } = node;
  const inner = typeof others === 'object' ? [others] : [];
  return [
    ...Object.entries(properties).flatMap(([key, value]) => [
      { key: `${path}${key}`, text: value.description ?? '' },
      ...described(value, `${path}${key}.`)
    ]),
    ...inner.flatMap((one) => described(one, `${path}<name>.`)),
    ...anyOf.flatMap((one) => described(one, path))
  ];
}

const keys = described(
  nodeSchema.parse(z.toJSONSchema(configSchema(), { io: 'input' }))
);

test('every key has a description in sentences', () => {
  expect(keys.length).toBeGreaterThan(60);
  expect(keys.map(({ key }) => key)).toContain('engines.<name>.baseUrl');
  const bare = keys.filter(({ text }) => !/^[A-Z`].{7,}\.$/s.test(text));
  expect(
    bare.map(({ key }) => key),
    'give these a .describe() with a sentence, then run scripts/schema.mjs'
  ).toEqual([]);
});

test('the published schema has the same keys', () => {
  const file = readFileSync(join(packageRoot, 'troupe.schema.json'), 'utf8');
  expect(described(nodeSchema.parse(JSON.parse(file)))).toEqual(keys);
});

test('an empty file has the same settings as none', () => {
  expect(configSchema().parse({})).toEqual(defaultConfig());
});

test.each(['TROUPE_DEPTH', 'TROUPE_HTTP_TOKEN', 'TROUPE_', 'A-B', '1A', ''])(
  'no agent gets the variable "%s" of this server by its name',
  (name) => {
    const withEnv = (...passEnv: string[]) =>
      configSchema().safeParse({ engines: { x: { passEnv } } });
    expect(withEnv('MY_KEY').success).toBe(true);
    const { issues = [] } = withEnv('MY_KEY', name).error ?? {};
    expect(issues.map(({ path }) => path.join('.'))).toEqual([
      'engines.x.passEnv.1'
    ]);
  }
);

test('the model of an engine is not a flag of its program', () => {
  const withModel = (model: string) =>
    configSchema().safeParse({ engines: { x: { model } } }).success;
  expect([withModel('pro'), withModel('--yolo')]).toEqual([true, false]);
});
