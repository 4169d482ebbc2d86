import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { packageRoot } from '../../kit/judges/documents.ts';

const folder = join(packageRoot, 'dist', 'web');

test('the page takes at most 60 kB when it is loaded first, gzipped', () => {
  const sizes = readdirSync(folder).map(
    (name) => gzipSync(readFileSync(join(folder, name))).length
  );
  const total = sizes.reduce((sum, one) => sum + one, 0);
  expect(sizes.length).toBe(3);
  expect(total).toBeLessThan(60_000);
  expect(total).toBeGreaterThan(10_000);
});

test('the page asks nothing of another server', () => {
  for (const name of ['index.html', 'app.css'])
    expect(readFileSync(join(folder, name), 'utf8')).not.toMatch(
      /https?:|\/\/\w/
    );
});
