import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import {
  expectDurable,
  watchFiles
} from '../../../test/kit/judges/file-operations.ts';
import {
  outcomeWith,
  recordWith
} from '../../../test/kit/servers/run-facts.ts';
import { createTempWorkspace } from '../../../test/kit/workspaces/temp-workspace.ts';
import { claimNeverStarts } from './run-files.ts';
import { RunStore } from './run-store.ts';

vi.mock('node:fs', async () => {
  const { watchedFs } = await import(
    '../../../test/kit/judges/file-operations.ts'
  );
  return watchedFs();
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

test('a created run is on the disk before its folder appears', () => {
  store.create(record, 'x', 'x');
  expectDurable(file('record.json'));
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
