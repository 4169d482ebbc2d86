import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { until } from '../../testing/until.ts';
import { openOffice, type WorkerOffice } from '../../testing/worker-office.ts';
import type { Orchestrator } from './orchestrator.ts';

const [one, other] = ['aaaaaaaa', 'bbbbbbbb'];
const now = { timeoutMs: 0, signal: new AbortController().signal };

let office: WorkerOffice;
let master: Orchestrator;

async function open(settings: object = {}): Promise<void> {
  office = await openOffice(settings);
  const { close } = office;
  onTestFinished(() => close());
  master = office.master();
  office.hire(one);
}

beforeEach(() => open());

const types = (id = one) => office.lines(id, 'outbox').map(({ type }) => type);
const statusOf = (id = one) => master.store.get(id).log.read().status;

describe('a worker whose program is gone', () => {
  test('has crashed, once, however many servers see it', async () => {
    await office.desk(one).waitForCommand(now);
    await master.attend();
    expect(statusOf()).toBe('ready');
    office.lose(one);
    const masters = [master, office.master(), office.master()];
    await Promise.all(masters.map((each) => each.attend()));
    for (const each of masters) await each.attend();
    expect(types()).toEqual(['ready', 'crashed']);
    expect(office.broadcast().map(({ type }) => type)).toEqual(types());
    expect(statusOf()).toBe('crashed');
  });

  test('is not started again and again when that cannot be done', async () => {
    await open({ restart: 'on-crash' });
    await office.desk(one).waitForCommand(now);
    await master.enqueue(one, { id: 'a', payload: {} });
    office.lose(one);
    await until('its end', async () => {
      await master.attend();
      return statusOf() === 'crashed' || undefined;
    });
    expect(types().filter((type) => type === 'crashed')).toHaveLength(4);
    const { tasks, state } = master.store.get(one).log.read();
    expect(tasks.map(({ id }) => id)).toEqual(['a']);
    expect(state.generation).toBe(4);
  });

  test('leaves no secrets: nobody starts it again', async () => {
    const { request } = master.store.folderOf(one);
    await office.desk(one).waitForCommand(now);
    expect(existsSync(request)).toBe(true);
    office.lose(one);
    await master.attend();
    expect(existsSync(request)).toBe(false);
  });
});

test('a worker that is silent for too long is stalled, once, until it speaks', async () => {
  await open({ stalledAfterSeconds: 0.2 });
  const desk = office.desk(one);
  await desk.waitForCommand(now);
  const masters = [master, office.master()];
  await until('a stall', async () => {
    await Promise.all(masters.map((each) => each.attend()));
    return statusOf() === 'stalled' || undefined;
  });
  for (const each of masters) await each.attend();
  expect(types()).toEqual(['ready', 'stalled']);
  await desk.emitEvent({ type: 'heartbeat' });
  expect(statusOf()).toBe('ready');
});

test('a worker that nobody can look at hides no other', async () => {
  office.hire(other);
  for (const id of [one, other]) await office.desk(id).waitForCommand(now);
  const { outbox } = master.store.folderOf(one);
  rmSync(outbox);
  mkdirSync(outbox);
  office.lose(other);
  const later = office.master();
  await later.attend();
  await later.attend();
  expect(types(other)).toEqual(['ready', 'crashed']);
});

test('looking never throws, whatever lies there', async () => {
  const agents = join(office.workspace.path, '.agents', 'agents');
  rmSync(agents, { recursive: true });
  writeFileSync(agents, 'no folder');
  await expect(office.master().attend()).resolves.toBeUndefined();
});
