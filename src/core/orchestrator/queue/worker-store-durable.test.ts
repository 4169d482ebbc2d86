import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import {
  openOffice,
  runId,
  type WorkerOffice
} from '../../../../test/kit/agents/worker-office.ts';
import {
  expectContentSynced,
  expectDurable,
  expectNameDurable,
  justBefore,
  watchFiles
} from '../../../../test/kit/judges/file-operations.ts';
import { storePayload } from './payload.ts';
import type { Worker } from './worker-store.ts';

vi.mock('node:fs', async () => {
  const { watchedFs } = await import(
    '../../../../test/kit/judges/file-operations.ts'
  );
  return watchedFs();
});

const id = 'aaaaaaaa';

let office: WorkerOffice;
let worker: Worker;

beforeEach(async () => {
  office = await openOffice();
  onTestFinished(() => office.close());
  watchFiles();
  office.hire(id);
  worker = office.reader().get(id);
});

test('a new worker is on the disk, with all that a restart needs', () => {
  const { folder } = worker;
  expectDurable(folder.meta);
  expectDurable(folder.request);
  expectNameDurable(folder.inbox);
  expectNameDurable(folder.outbox);
});

test('the changed meta of a worker is on the disk', () => {
  watchFiles();
  office.reader().setMeta({ ...worker.meta, name: 'Two' });
  expectDurable(worker.folder.meta);
});

test('a change of the logs of a worker is on the disk when it is answered', async () => {
  const { folder, log } = worker;
  watchFiles();
  await log.change(() => ({
    commands: [{ type: 'task', task_id: 'a' }],
    events: [{ type: 'ready', by: 'troupe' }],
    result: undefined
  }));
  expectContentSynced(folder.inbox);
  expectContentSynced(folder.outbox);
});

test('a command is on the disk before the event that answers it', async () => {
  const { folder, log } = worker;
  const checked = vi.fn(() => expectContentSynced(folder.inbox));
  watchFiles();
  justBefore('write', folder.outbox, checked);
  await log.change(() => ({
    commands: [{ type: 'task', task_id: 'a' }],
    events: [{ type: 'progress' }],
    result: undefined
  }));
  expect(checked).toHaveBeenCalled();
});

test('a long payload is on the disk before a line names it', () => {
  watchFiles();
  const { payload_file: file = '' } = storePayload(
    'x'.repeat(70_000),
    worker.folder
  );
  expectDurable(join(worker.folder.private, file));
  expectNameDurable(worker.folder.payloads);
});

test('a published event is on the disk', async () => {
  const store = office.reader();
  const { log } = store.get(id);
  await log.change(() => ({
    events: [{ type: 'ready', by: 'troupe' }],
    result: undefined
  }));
  const broadcast = store.broadcastOf(runId);
  watchFiles();
  await broadcast.publish(id, log);
  expectContentSynced(broadcast.log.path);
});
