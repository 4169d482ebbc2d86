import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { everyday } from '../e2e/everyday.ts';
import { packageRoot } from '../kit/judges/documents.ts';

const folder = join(packageRoot, 'test', 'e2e');

test('the e2e tests of every day exist, some of every subject', () => {
  const gone = everyday.filter(
    (name) => !existsSync(join(folder, `${name}.test.ts`))
  );
  expect(gone).toEqual([]);
  const subjects = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
  const covered = new Set(everyday.map((name) => name.split('/')[0]));
  expect([...covered].sort()).toEqual(subjects.sort());
});
