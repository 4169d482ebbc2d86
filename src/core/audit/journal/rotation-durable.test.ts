import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import {
  expectGoneDurably,
  expectNameDurable,
  expectWholeWhenNamed,
  watchFiles
} from '../../../../test/kit/judges/file-operations.ts';
import {
  createLog,
  type TestLog
} from '../../../../test/kit/servers/logged-agents.ts';

vi.mock('node:fs', async () => {
  const { watchedFs } = await import(
    '../../../../test/kit/judges/file-operations.ts'
  );
  return watchedFs();
});
vi.mock('node:fs/promises', async () => {
  const { watchedPromises } = await import(
    '../../../../test/kit/judges/file-operations.ts'
  );
  return watchedPromises();
});

let log: TestLog;
let segment: string;

beforeEach(async () => {
  log = createLog();
  onTestFinished(log.workspace.remove);
  watchFiles();
  log.run(0, 3);
  await log.rotate();
  [segment = ''] = log.segments();
  expect(segment).not.toBe('');
});

test('the records of a segment are on the disk before it is archived', () => {
  expectWholeWhenNamed(segment);
});

test('the name of a segment is on the disk', () => {
  expectNameDurable(segment);
});

test('an archived journal does not come back after a power failure', () => {
  expectGoneDurably(log.path);
});
