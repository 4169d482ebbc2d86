#!/usr/bin/env node
/**
 * Writes two JSON Schemas: troupe.schema.json of the configuration file, from
 * `configSchema` in src/config/schema.ts, and troupe-output.schema.json of the
 * output of commands, from src/cli/json/. `--check` writes nothing and fails
 * when a file is stale.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fromSources } from './from-sources.mjs';

const { schema, output } = await fromSources(`
import { z } from 'zod';
import { outputSchema } from './src/cli/json/output-schema.ts';
import { configSchema } from './src/config/schema.ts';
export const schema = z.toJSONSchema(configSchema(), { io: 'input' });
export const output = outputSchema();
`);

const { $schema, ...rest } = schema;
const files = {
  'troupe.schema.json': {
    $schema,
    title: 'Configuration of troupe',
    description:
      'Every key is optional. docs/reference/configuration.md has them all.',
    ...rest
  },
  'troupe-output.schema.json': output
};

for (const [name, whole] of Object.entries(files)) {
  const file = join(import.meta.dirname, '..', name);
  const text = `${JSON.stringify(whole, null, 2)}\n`;
  if (!process.argv.includes('--check')) {
    writeFileSync(file, text);
  } else if (readIfExists(file) !== text) {
    console.error(`${name} is not current. Run: node scripts/schema.mjs`);
    process.exitCode = 1;
  }
}

function readIfExists(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
