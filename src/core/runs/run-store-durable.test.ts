import { dirname, join } from 'node:path';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import {
  expectDurable,
  justBefore,
  syncsBelow,
  watchFiles
} from '../../../test/kit/judges/file-operations.ts';
import {
  outcomeWith,
  recordWith
} from '../../../test/kit/servers/run-facts.ts';
import { createTempWorkspace } from '../../../test/kit/workspaces/temp-workspace.ts';
import { processLiveness } from '../../adapters/child-process/processes.ts';
import { namesIn } from '../state/files/directories.ts';
import type { RunRecord } from './run.ts';
import { claimNeverStarts } from './run-files.ts';
import { RunStore } from './run-store.ts';
import { becomeHeir } from './start-marks.ts';

vi.mock('node:fs', async () => {
  const { watchedFs } = await import(
    '../../../test/kit/judges/file-operations.ts'
  );
  return watchedFs();
});

vi.mock('node:fs/promises', async () => {
  const { watchedPromises } = await import(
    '../../../test/kit/judges/file-operations.ts'
  );
  return watchedPromises();
});

const record = recordWith();
const { agent_id: id } = record;

let store: RunStore;
let file: (name: string) => string;

beforeEach(() => {
  const workspace = createTempWorkspace();
  onTestFinished(workspace.remove);
  store = new RunStore(workspace.record);
  file = (name) => join(store.directoryOf(id), name);
  watchFiles();
});

const createShared = (one: RunRecord) =>
  store.createShared({ record: one, prompt: 'x', stdin: 'x' }, (rest) =>
    rest()
  );

test('a created run is on the disk before its folder appears', () => {
  store.create(record, 'x', 'x');
  expectDurable(file('record.json'));
});

test('so are many at once, which share their syncs', async () => {
  const ids = Array.from({ length: 20 }, (_, n) => `${n + 10}aaaaaa`);
  const made = await Promise.all(
    ids.map((agent_id) => createShared(recordWith({ agent_id })))
  );
  expect(made).toEqual(ids.map(() => true));
  for (const one of ids)
    expectDurable(join(store.directoryOf(one), 'record.json'));
  expect(syncsBelow(dirname(store.directoryOf(id)))).toBeLessThan(5);
});

test('of two at once with the same id, one is made', async () => {
  const made = ['first', 'second'].map((task) =>
    createShared(recordWith({ task }))
  );
  expect(await Promise.all(made)).toEqual([true, false]);
  expect(store.recordOf(id)?.task).toBe('first');
  expect(store.isOpen(id)).toBe(true);
});

test('a sync that fails leaves nothing', async () => {
  justBefore('open', 'record.json', () => undefined);
  justBefore('open', 'record.json', () => {
    throw new Error('the disk is broken');
  });
  await expect(createShared(record)).rejects.toThrow('broken');
  expect([store.has(id), store.isOpen(id)]).toEqual([false, false]);
  expect(namesIn(store.drafts)).toEqual(['.gitignore']);
});

test('the outcome of a run that cannot start is on the disk with it', () => {
  store.create(record, 'x', 'x', outcomeWith({ status: 'failed' }));
  expectDurable(file('outcome.json'));
});

test('a recorded end is on the disk', () => {
  store.create(record, 'x', 'x');
  watchFiles();
  expect(store.end(id, outcomeWith())).toBe(true);
  expectDurable(file('outcome.json'));
});

test('a claim that a run never starts is on the disk', () => {
  store.create(record, 'x', 'x');
  watchFiles();
  expect(claimNeverStarts(store.directoryOf(id))).toBe(true);
  expectDurable(file('claim'));
});

test('the server that takes a run over is on the disk', () => {
  const { self } = processLiveness();
  store.create(record, 'x', 'x');
  watchFiles();
  expect(becomeHeir(store.directoryOf(id), self, undefined)).toBe(true);
  expectDurable(file('heir.1'));
});
