import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { describeEngine } from '../contract/engine-contract.ts';
import { packageRoot } from '../kit/judges/documents.ts';

const examples = join(packageRoot, 'examples');

for (const name of readdirSync(examples)) {
  const file = join(examples, name, 'engine.mjs');
  if (!existsSync(file)) continue;
  const { default: engine } = await import(file);
  describeEngine(engine, recordingsIn(join(examples, name, 'fixtures')), {
    describe,
    it
  });
}

function recordingsIn(directory: string) {
  if (!existsSync(directory)) return [];
  return readdirSync(directory).map((name) =>
    JSON.parse(readFileSync(join(directory, name), 'utf8'))
  );
}
