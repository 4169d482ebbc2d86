import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, test, vi } from 'vitest';
import {
  expectContentSynced,
  expectDurable,
  expectWholeWhenNamed,
  watchFiles
} from '../../../../test/kit/judges/file-operations.ts';
import { appendLines } from './append.ts';
import { createOnce, replaceFile, replaceWithoutSync } from './atomic-file.ts';

vi.mock('node:fs', async () => {
  const { watchedFs } = await import(
    '../../../../test/kit/judges/file-operations.ts'
  );
  return watchedFs();
});

const folder = mkdtempSync(join(tmpdir(), 'troupe-durable-'));
const path = join(folder, 'file');

beforeEach(watchFiles);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('a durable replacement is on the disk before it has its name', () => {
  replaceFile(path, 'new', true);
  expectDurable(path);
});

test('a replacement without a promise is not', () => {
  replaceFile(path, 'new');
  expect(() => expectDurable(path)).toThrow('was not synced');
});

test('a replacement whose directory is synced later is synced itself', () => {
  replaceWithoutSync(path, 'newer', true);
  expectWholeWhenNamed(path);
  expect(() => expectDurable(path)).toThrow(`${folder} was not synced after`);
});

test('a file that only one process creates is on the disk', () => {
  expect(createOnce(join(folder, 'once'), 'ours')).toBe(true);
  expectDurable(join(folder, 'once'));
});

test('a file without a promise that only one process creates is not', () => {
  const quick = join(folder, 'quick');
  expect(createOnce(quick, 'ours', false)).toBe(true);
  expect(() => expectDurable(quick)).toThrow('was not synced');
});

test('appended lines are on the disk', () => {
  appendLines(path, ['{}'], join(folder, 'torn'));
  expectContentSynced(path);
});
