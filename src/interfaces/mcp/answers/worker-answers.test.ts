import { beforeEach, expect, onTestFinished, test } from 'vitest';
import {
  openOffice,
  runId,
  type WorkerOffice
} from '../../../../test/kit/agents/worker-office.ts';
import type { Worker } from '../../../core/orchestrator/queue/worker-store.ts';
import { workerFacts } from './worker-answers.ts';

const id = 'aaaaaaaa';
const now = { timeoutMs: 0, signal: new AbortController().signal };

let office: WorkerOffice;
let worker: Worker;

beforeEach(async () => {
  office = await openOffice();
  onTestFinished(() => office.close());
  office.hire(id);
  worker = office.reader().get(id);
});

test('a worker in a list has few facts', () => {
  expect(workerFacts(worker, true)).toEqual({
    agent_id: id,
    name: 'One',
    role: '',
    engine: 'mine',
    status: 'starting',
    tmux_pane_id: null,
    queue_depth: 0,
    running_task_id: null,
    last_event_seq: 0,
    run_id: runId
  });
});

test('a list shows only the first line of a long brief', () => {
  const role = `${'word '.repeat(40)}\nmore`;
  const meta = { ...worker.meta, role };
  const short = workerFacts({ ...worker, meta }, true).role;
  expect(short).toBe(`${'word '.repeat(16)}…`);
  expect(workerFacts({ ...worker, meta }).role).toBe(role);
});

test('a brief that is longer than an answer is cut, with the path of the whole brief', () => {
  const meta = { ...worker.meta, role: 'x'.repeat(40_000) };
  const facts = workerFacts({ ...worker, meta });
  expect(String(facts.role).length).toBeLessThan(5000);
  expect(facts).toMatchObject({
    truncated: true,
    total_chars: 40_000,
    full_output: worker.folder.paths().meta
  });
});

test('a busy worker is shown with its tasks and pending requests', async () => {
  const master = office.master();
  for (const task of ['a', 'b', 'c'])
    await master.enqueue(id, { id: task, payload: {} });
  await office.desk(id).waitForCommand(now);
  expect(workerFacts(worker)).toMatchObject({
    status: 'busy',
    queue_depth: 2,
    running_task_id: 'a',
    queued_task_ids: ['b', 'c'],
    last_event_seq: 2,
    restarts: 0,
    backend: 'process',
    paths: { outbox: worker.folder.paths().outbox }
  });
  expect(workerFacts(worker)).not.toHaveProperty('cancel_requested');
  expect(workerFacts(worker)).not.toHaveProperty('stop_requested');
  await master.cancel(id, 'a');
  await master.delete(id, { force: false, confirm: false });
  expect(workerFacts(worker)).toMatchObject({
    cancel_requested: true,
    stop_requested: true
  });
});

test('many tasks are counted, and the first ones that fit are named', async () => {
  const ids = Array.from({ length: 300 }, (_, index) =>
    `${index}`.padEnd(100, '한')
  );
  await worker.log.change(() => ({
    commands: ids.map((task_id) => ({ type: 'task' as const, task_id })),
    result: undefined
  }));
  const { queue_depth, queued_task_ids: named } = workerFacts(worker);
  expect(queue_depth).toBe(300);
  if (!Array.isArray(named)) throw new Error('no tasks are named');
  expect(named.length).toBeGreaterThan(5);
  expect(named).toEqual(ids.slice(0, named.length));
  expect(Buffer.byteLength(JSON.stringify(named))).toBeLessThan(4000);
});

test('the pane is shown until the worker has ended', async () => {
  const pane = { pane_id: '%7', socket: '/tmp/s' };
  const inPane = { ...worker, meta: { ...worker.meta, pane } };
  expect(workerFacts(inPane)).toMatchObject({ tmux_pane_id: '%7' });
  office.lose(id);
  await office.master().delete(id, { force: true, confirm: true });
  expect(workerFacts(inPane)).toMatchObject({
    status: 'stopped',
    tmux_pane_id: null
  });
});
