import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { packageRoot } from '../kit/judges/documents.ts';

test('what npm runs at an install takes no program by npx, which a global install points elsewhere', () => {
  const { scripts } = JSON.parse(
    readFileSync(`${packageRoot}/package.json`, 'utf8')
  );
  expect(scripts.prepare).toBe('node scripts/build.mjs --types');
  const build = readFileSync(`${packageRoot}/scripts/build.mjs`, 'utf8');
  expect(build).not.toMatch(/['"`]npx/);
});
