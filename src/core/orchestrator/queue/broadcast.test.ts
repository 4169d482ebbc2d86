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
} from '../../../../test/kit/agents/worker-office.ts';
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

/** Records events of a worker without publishing them. */
function record(id: string, ...events: NewEvent[]): Promise<void> {
  return worker(id).log.change(() => ({ events, result: undefined }));
}

const publish = (id: string) => broadcast.publish(id, worker(id).log);

const ready: NewEvent = { type: 'ready', by: 'troupe' };
const progress: NewEvent = { type: 'progress', payload: { n: 1 } };
const result = (task_id: string): NewEvent => ({
  type: 'result',
  task_id,
  done: true
});

/** Each line in the form `aaaaaaaa 1 ready`. */
const published = () =>
  office
    .broadcast()
    .map(({ agent_id, seq, type }) => [agent_id, seq, type].join(' '));

test('the broadcast has the milestones of every worker, not all its events', async () => {
  await record(one, ready, progress, result('a'));
  await record(other, ready, progress);
  await publish(one);
  await publish(other);
  expect(published()).toEqual([
    `${one} 1 ready`,
    `${one} 3 result`,
    `${other} 1 ready`
  ]);
});

test('each event is published once, however many processes publish', async () => {
  await record(one, ready, result('a'));
  const others = [
    broadcast,
    ...[1, 2].map(() => office.reader().broadcastOf(runId))
  ];
  await Promise.all(
    others.flatMap((each) =>
      [1, 2, 3].map(() => each.publish(one, worker(one).log))
    )
  );
  expect(published()).toEqual([`${one} 1 ready`, `${one} 2 result`]);
});

test('events that a killed process did not publish are published by the next call', async () => {
  await record(one, ready);
  await publish(one);
  await record(one, result('a'));
  await record(one, result('b'));
  await office.reader().broadcastOf(runId).publish(one, worker(one).log);
  expect(published().slice(1)).toEqual([`${one} 2 result`, `${one} 3 result`]);
});

test('a torn line is moved aside and published again', async () => {
  await record(one, ready, result('a'));
  await publish(one);
  const { path } = broadcast.log;
  truncateSync(path, readFileSync(path).length - 5);
  await office.reader().broadcastOf(runId).publish(one, worker(one).log);
  expect(published()).toEqual([`${one} 1 ready`, `${one} 2 result`]);
});

test('a truncated broadcast is completed again', async () => {
  await record(one, ready, result('a'));
  await publish(one);
  writeFileSync(broadcast.log.path, '');
  await record(one, progress);
  await publish(one);
  expect(published()).toEqual([`${one} 1 ready`, `${one} 2 result`]);
});

test('invalid lines do not hide valid lines', async () => {
  await record(one, ready);
  await publish(one);
  appendFileSync(broadcast.log.path, `garbage\n${'x'.repeat(2_000_000)}\n`);
  await record(one, result('a'));
  await publish(one);
  const lines = readFileSync(broadcast.log.path, 'utf8').trim().split('\n');
  expect(lines).toHaveLength(4);
  expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ seq: 2 });
});

test('events that were read once are not read again', async () => {
  const steps = Array.from({ length: 3000 }, () => progress);
  await record(one, ready, ...steps);
  await publish(one);
  // If it were read again, this event would be published.
  const { path } = worker(one).log.outbox;
  const lines = readFileSync(path, 'utf8').split('\n');
  const changed = lines.map((line, index) =>
    index === 1 ? line.replace('"progress"', '"resumed" ') : line
  );
  writeFileSync(path, changed.join('\n'));
  await record(one, progress, result('a'));
  await publish(one);
  expect(published()).toEqual([`${one} 1 ready`, `${one} 3003 result`]);
});
