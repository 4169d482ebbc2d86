import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  justBefore,
  syncsBelow,
  watchFiles
} from '../../../../test/kit/judges/file-operations.ts';
import { type DurableWork, doNow, SharedSync } from './shared-sync.ts';

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

let folder: string;
let missing: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-shared-sync-'));
  missing = join(folder, 'missing');
  onTestFinished(() => rmSync(folder, { recursive: true }));
  watchFiles();
});

describe('shared syncs', () => {
  test('of one directory are one for all that come in a turn', async () => {
    const syncs = new SharedSync();
    await Promise.all(Array.from({ length: 50 }, () => syncs.sync(folder)));
    expect(syncsBelow(folder)).toBe(1);
    await syncs.sync(folder);
    expect(syncsBelow(folder)).toBe(2);
  });

  test('begin after they were asked for', async () => {
    const syncs = new SharedSync();
    const begun = new Promise<void>((resolve) =>
      justBefore('open', folder, resolve)
    );
    const first = syncs.sync(folder);
    await begun;
    const second = syncs.sync(folder);
    await Promise.all([first, second]);
    expect(syncsBelow(folder)).toBe(2);
  });

  test('let their callers go on in order', async () => {
    const syncs = new SharedSync();
    const done: number[] = [];
    const paths = [0, 1, 2, 3].map((n) => join(folder, String(n)));
    for (const path of paths) writeFileSync(path, 'x');
    await Promise.all(
      [2, 0, 3, 1, 2, 0].map((n, i) =>
        syncs.sync(paths[n] ?? '').then(() => done.push(i))
      )
    );
    expect(done).toEqual([0, 1, 2, 3, 4, 5]);
  });

  test('fail for those that need what cannot be synced, and go on', async () => {
    const syncs = new SharedSync();
    const results = await Promise.allSettled(
      [folder, missing, folder, missing].map((path) => syncs.sync(path))
    );
    expect(results.map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
      'rejected'
    ]);
    await syncs.sync(folder);
  });
});

describe.each([
  ['at once', async (work: DurableWork<string>) => doNow(work)],
  ['with others', (work: DurableWork<string>) => new SharedSync().do(work)]
])('durable work done %s', (_, perform) => {
  test('goes on after each sync', async () => {
    const seen: number[] = [];
    const work = function* (): DurableWork<string> {
      seen.push(syncsBelow(folder));
      yield folder;
      seen.push(syncsBelow(folder));
      yield folder;
      seen.push(syncsBelow(folder));
      return 'done';
    };
    expect(await perform(work())).toBe('done');
    expect(seen).toEqual([0, 1, 2]);
  });

  test('gets the error of a sync, and may go on after it', async () => {
    const work = function* (): DurableWork<string> {
      try {
        yield missing;
      } catch (error) {
        yield folder;
        return String(error);
      }
      return 'none';
    };
    expect(await perform(work())).toContain('ENOENT');
    expect(syncsBelow(folder)).toBe(1);
  });

  test('fails with what it throws', async () => {
    const work = function* (): DurableWork<string> {
      yield folder;
      throw new Error('no');
    };
    await expect(perform(work())).rejects.toThrow('no');
  });
});
