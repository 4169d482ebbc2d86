import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { documentAt, packageRoot, rowsIn } from '../kit/judges/documents.ts';

const faults = rowsIn(documentAt('test/faults.md').text).map(
  ([name = '', what = '', promise = '', test = '']) => {
    const [, file = '', title = ''] = /^`(.+?)`: (.+)$/.exec(test) ?? [];
    return { name, what, promise, file, title };
  }
);

test('test/faults.md names every fault once, what it is and what is promised', () => {
  expect(faults.length).toBeGreaterThanOrEqual(37);
  const names = faults.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  for (const { what, promise } of faults)
    expect([what, promise]).toEqual([
      expect.stringMatching(/\.$/),
      expect.stringMatching(/\.$/)
    ]);
});

test('each fault of test/faults.md has a test of its own, which is there', () => {
  const tests = faults.map(({ file, title }) => `${file}: ${title}`);
  expect(new Set(tests).size).toBe(tests.length);
  const missing = faults.filter(({ file, title }) => !hasTest(file, title));
  expect(missing).toEqual([]);
  const [first] = faults;
  expect(hasTest(first?.file ?? '', 'nothing of the kind')).toBe(false);
});

/** A string literal in a call that makes a test of it, wherever it is broken. */
function hasTest(file: string, title: string): boolean {
  const path = join(packageRoot, file);
  if (!existsSync(path) || title === '') return false;
  const literal = title.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const made = `(test|[tT]est\\w*|onSmallDisk)(\\.\\w+)*\\(([\\s\\S]*?\\]\\)\\()?\\s*['\`]${literal}['\`]`;
  const each = `\\]?\\)\\(\\s*['\`]${literal}['\`]`;
  return new RegExp(`${made}|${each}`).test(readFileSync(path, 'utf8'));
}
