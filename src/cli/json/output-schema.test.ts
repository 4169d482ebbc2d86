import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { outputDocuments, outputSchema } from './output-schema.ts';

const root = join(import.meta.dirname, '..', '..', '..');

test('the published schema has one definition for each document', () => {
  const file = readFileSync(join(root, 'troupe-output.schema.json'), 'utf8');
  expect(JSON.parse(file)).toEqual(outputSchema());
  expect(Object.keys(outputSchema().$defs)).toEqual(
    Object.keys(outputDocuments)
  );
});

test('the reference of the command line names every document', () => {
  const page = readFileSync(
    join(root, 'docs', 'reference', 'command-line.md'),
    'utf8'
  );
  const [, named = ''] = /`\$defs` of .* defines: (.*)/.exec(page) ?? [];
  const names = [...named.matchAll(/`(\w+)`/g)];
  expect(names.map(([, name]) => name).sort()).toEqual(
    Object.keys(outputDocuments).sort()
  );
});

test('the published schema allows keys to be added later', () => {
  expect(JSON.stringify(outputSchema())).not.toContain(
    '"additionalProperties":false'
  );
});
