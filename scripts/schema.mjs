#!/usr/bin/env node
/**
 * Writes troupe.schema.json, the JSON Schema of the configuration file, from
 * `configSchema` in src/config.ts. `--check` writes nothing and fails when the
 * file is not what would be written.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rolldown } from 'rolldown';

const root = join(import.meta.dirname, '..');
const file = join(root, 'troupe.schema.json');
const entry = 'virtual:schema';

const source = `
import { z } from 'zod';
import { configSchema } from './src/config.ts';
export const schema = z.toJSONSchema(configSchema, { io: 'input' });
`;

/** The configuration's schema as the sources say it now. */
async function currentSchema() {
  const build = await rolldown({
    input: entry,
    cwd: root,
    platform: 'node',
    // Loaded when there is a file to read, which is never here.
    external: ['cosmiconfig'],
    plugins: [
      {
        name: 'schema-entry',
        resolveId: (id, importer) =>
          id === entry
            ? id
            : importer === entry && id.startsWith('.')
              ? join(root, id)
              : null,
        load: (id) => (id === entry ? source : null)
      }
    ]
  });
  const { output } = await build.generate({
    format: 'esm',
    codeSplitting: false
  });
  await build.close();
  const code = Buffer.from(output[0].code).toString('base64');
  const { schema } = await import(`data:text/javascript;base64,${code}`);
  const { $schema, ...rest } = schema;
  return {
    $schema,
    title: 'Configuration of troupe',
    description: 'Every key is optional. docs/configuration.md explains each.',
    ...rest
  };
}

const text = `${JSON.stringify(await currentSchema(), null, 2)}\n`;
if (!process.argv.includes('--check')) {
  writeFileSync(file, text);
} else if (readIfThere() !== text) {
  console.error(
    'troupe.schema.json is not current. Run: node scripts/schema.mjs'
  );
  process.exitCode = 1;
}

function readIfThere() {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
