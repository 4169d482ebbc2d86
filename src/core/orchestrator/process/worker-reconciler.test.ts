import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  createProcessStage,
  stopClock
} from '../../../../test/kit/agents/process-stage.ts';
import {
  openOffice,
  type WorkerOffice
} from '../../../../test/kit/agents/worker-office.ts';
import { until } from '../../../../test/kit/judges/until.ts';
import { createProcesses } from '../../../adapters/child-process/processes.ts';
import { ensureDirectory } from '../../state/files/directories.ts';
import { markProcess } from '../../state/locks/process-marks.ts';
import type { Orchestrator } from '../orchestrator.ts';

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

describe('a worker whose program has ended', () => {
  test('crashes once, however many servers notice it', async () => {
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

  test('is not restarted forever if every start fails', async () => {
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

  test('leaves no secrets once it is not restarted', async () => {
    const { request } = master.store.folderOf(one);
    await office.desk(one).waitForCommand(now);
    expect(existsSync(request)).toBe(true);
    office.lose(one);
    await master.attend();
    expect(existsSync(request)).toBe(false);
  });
});

describe('a worker that is just being created by another server', () => {
  test('is left to that server, even if its program is gone', async () => {
    office.lose(one);
    await master.attend();
    expect(types()).toEqual([]);
  });

  test('crashes once that server has ended', async () => {
    const { self } = createProcesses('dist');
    const owner = join(master.store.folderOf(one).start(1), 'owner');
    writeFileSync(owner, JSON.stringify({ ...self, start: '1' }));
    office.lose(one);
    await master.attend();
    expect(types()).toEqual(['crashed']);
  });
});

test('a worker whose record may come with the project is not started again', async () => {
  await open({ restart: 'on-crash' });
  await office.desk(one).waitForCommand(now);
  chmodSync(master.store.folderOf(one).request, 0o644);
  office.lose(one);
  await master.attend();
  expect(types()).toEqual(['ready', 'crashed']);
  const { state, isOver } = master.store.get(one).log.read();
  expect([state.generation, isOver]).toEqual([1, true]);
});

test('the tasks of a crash that a killed server has recorded half are ended', async () => {
  const desk = office.desk(one);
  await desk.waitForCommand(now);
  await master.enqueue(one, { id: 'a', payload: {} });
  await desk.waitForCommand(now);
  office.lose(one);
  await master.store.get(one).log.change(() => ({
    events: [{ type: 'crashed', by: 'troupe' }],
    result: undefined
  }));
  await office.master().attend();
  const ends = office.lines(one, 'outbox').filter(({ task_id: id }) => id);
  expect(ends.at(-1)).toMatchObject({ task_id: 'a', by: 'troupe' });
  expect(master.store.get(one).log.read().running).toBeUndefined();
});

test('a worker that is silent for too long stalls once, until its next event', async () => {
  await open({ stalledAfterSeconds: 0.2 });
  const mailbox = office.desk(one);
  await mailbox.waitForCommand(now);
  const masters = [master, office.master()];
  await until('a stall', async () => {
    await Promise.all(masters.map((each) => each.attend()));
    return statusOf() === 'stalled' || undefined;
  });
  for (const each of masters) await each.attend();
  expect(types()).toEqual(['ready', 'stalled']);
  await mailbox.emitEvent({ type: 'heartbeat' });
  expect(statusOf()).toBe('ready');
});

describe('a worker at a task whose server was killed', () => {
  /** Its status when its servers have been as they are for so long. */
  async function statusAfter(seconds: number, stepSeconds = 1) {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    await master.attend();
    for (let second = 0; second < seconds; second += stepSeconds) {
      vi.advanceTimersByTime(stepSeconds * 1000);
      await master.attend();
    }
    return statusOf();
  }

  beforeEach(async () => {
    const mailbox = office.desk(one);
    await mailbox.waitForCommand(now);
    await master.enqueue(one, { id: 'a', payload: {} });
    await mailbox.waitForCommand(now);
    const { servers } = master.store.folderOf(one);
    ensureDirectory(servers);
    const killed = { ...createProcesses('dist').self, start: '1' };
    writeFileSync(join(servers, String(killed.pid)), JSON.stringify(killed));
  });

  test('is ended if its program starts no other in ten seconds', async () => {
    expect(await statusAfter(9)).toBe('busy');
    expect(await statusAfter(11)).toBe('crashed');
    const { outbox } = master.store.folderOf(one);
    expect(readFileSync(outbox, 'utf8')).toContain(
      'its server ended, so it could not be reached'
    );
  });

  test('goes on after a machine that slept', async () => {
    expect(await statusAfter(3600, 3600)).toBe('busy');
  });

  test('goes on if its program starts another', async () => {
    markProcess(master.store.folderOf(one).servers, createProcesses('dist'));
    expect(await statusAfter(11)).toBe('busy');
  });
});

test('a worker with unreadable files does not hide other workers', async () => {
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

test('reconciling never throws, whatever the folder contains', async () => {
  const agents = join(office.workspace.path, '.agents', 'agents');
  rmSync(agents, { recursive: true });
  writeFileSync(agents, 'no folder');
  await expect(office.master().attend()).resolves.toBeUndefined();
});

test('a worker whose whole record is removed is ended by what a master saw of it', async () => {
  const { pid, start } = createProcessStage().start('exec sleep 100');
  const { folder } = master.store.get(one);
  writeFileSync(join(folder.start(1), 'claim'), `${pid} ${start}\n\n`);
  await master.enqueue(one, { id: 'a', payload: {} });
  const later = office.master();
  await later.attend();
  rmSync(folder.private, { recursive: true });
  const advance = stopClock();
  await later.attend();
  advance(1001);
  await later.attend();
  expect(() => later.store.get(one)).toThrow(
    /worker aaaaaaaa "One" was removed or damaged, so its program was ended\. Tasks that have no end: a\./
  );
});

test.each([
  ['a record of a newer version is not lost', '{"v":2,"agent_id":"x"}', false],
  ['a record without an id is lost', '{"v":1}', true],
  ['a record whose version is no number is lost', '{"v":null}', true],
  ['a record that is not JSON is lost', 'spilt', true]
])('%s', (_, text, isLost) => {
  const { store } = office.master();
  writeFileSync(store.folderOf(one).meta, text);
  expect(store.find(one)).toBeUndefined();
  expect(store.isGone(one)).toBe(isLost);
});

test('an id that is a path names no lost worker', () => {
  const { store } = office.master();
  expect(store.isGone('ffffffff')).toBe(true);
  expect(store.isGone('../x')).toBe(false);
});

test('the records of workers that have ended are not read again', async () => {
  const later = office.master();
  await office.desk(one).waitForCommand(now);
  office.lose(one);
  await later.attend();
  await later.attend();
  const read: string[] = [];
  const find = later.store.find.bind(later.store);
  later.store.find = (id) => {
    read.push(id);
    return find(id);
  };
  await later.attend();
  expect(read).toEqual([]);
});
