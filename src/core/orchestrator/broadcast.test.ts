import {
  appendFileSync,
  readFileSync,
  truncateSync,
  writeFileSync
} from 'node:fs';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import {
  openOffice,
  runId,
  type WorkerOffice
} from '../../testing/worker-office.ts';
import type { Broadcast } from './broadcast.ts';
import type { NewEvent } from './records.ts';
import type { Worker, WorkerStore } from './worker-store.ts';

const [one, other] = ['aaaaaaaa', 'bbbbbbbb'];

let office: WorkerOffice;
let store: WorkerStore;
let broadcast: Broadcast;

beforeEach(async () => {
  office = await openOffice();
  onTestFinished(() => office.close());
  for (const id of [one, other]) office.hire(id);
  store = office.reader();
  broadcast = store.broadcastOf(runId);
});

const worker = (id: string): Worker => store.get(id);

/** Records what befell a worker, and tells nobody. */
function happened(id: string, ...events: NewEvent[]): Promise<void> {
  return worker(id).log.change(() => ({ events, told: undefined }));
}

const publish = (id: string) => broadcast.publish(id, worker(id).log);

const ready: NewEvent = { type: 'ready', by: 'troupe' };
const progress: NewEvent = { type: 'progress', payload: { n: 1 } };
const result = (task_id: string): NewEvent => ({
  type: 'result',
  task_id,
  done: true
});

/** `aaaaaaaa 1 ready`, for each line. */
const told = () =>
  office
    .broadcast()
    .map(({ agent_id, seq, type }) => [agent_id, seq, type].join(' '));

test('tells all what every worker came to, and not all it does', async () => {
  await happened(one, ready, progress, result('a'));
  await happened(other, ready, progress);
  await publish(one);
  await publish(other);
  expect(told()).toEqual([
    `${one} 1 ready`,
    `${one} 3 result`,
    `${other} 1 ready`
  ]);
});

test('has each event once, however many tell it', async () => {
  await happened(one, ready, result('a'));
  const others = [
    broadcast,
    ...[1, 2].map(() => office.reader().broadcastOf(runId))
  ];
  await Promise.all(
    others.flatMap((each) =>
      [1, 2, 3].map(() => each.publish(one, worker(one).log))
    )
  );
  expect(told()).toEqual([`${one} 1 ready`, `${one} 2 result`]);
});

test('gets what a killed process did not come to tell with the next', async () => {
  await happened(one, ready);
  await publish(one);
  await happened(one, result('a'));
  await happened(one, result('b'));
  await office.reader().broadcastOf(runId).publish(one, worker(one).log);
  expect(told().slice(1)).toEqual([`${one} 2 result`, `${one} 3 result`]);
});

test('puts half a line aside, and tells it again', async () => {
  await happened(one, ready, result('a'));
  await publish(one);
  const { path } = broadcast.log;
  truncateSync(path, readFileSync(path).length - 5);
  await office.reader().broadcastOf(runId).publish(one, worker(one).log);
  expect(told()).toEqual([`${one} 1 ready`, `${one} 2 result`]);
});

test('made shorter by somebody, it is made whole again', async () => {
  await happened(one, ready, result('a'));
  await publish(one);
  writeFileSync(broadcast.log.path, '');
  await happened(one, progress);
  await publish(one);
  expect(told()).toEqual([`${one} 1 ready`, `${one} 2 result`]);
});

test('what stands between its lines hides none of them', async () => {
  await happened(one, ready);
  await publish(one);
  appendFileSync(broadcast.log.path, `garbage\n${'x'.repeat(2_000_000)}\n`);
  await happened(one, result('a'));
  await publish(one);
  const lines = readFileSync(broadcast.log.path, 'utf8').trim().split('\n');
  expect(lines).toHaveLength(4);
  expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ seq: 2 });
});

test('what was looked at once is not read again for each event that follows', async () => {
  const steps = Array.from({ length: 3000 }, () => progress);
  await happened(one, ready, ...steps);
  await publish(one);
  // Were it read again, this would be told.
  const { path } = worker(one).log.outbox;
  const lines = readFileSync(path, 'utf8').split('\n');
  const spoilt = lines.map((line, index) =>
    index === 1 ? line.replace('"progress"', '"resumed" ') : line
  );
  writeFileSync(path, spoilt.join('\n'));
  await happened(one, progress, result('a'));
  await publish(one);
  expect(told()).toEqual([`${one} 1 ready`, `${one} 3003 result`]);
});
