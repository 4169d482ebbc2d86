import { appendFileSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import {
  openOffice,
  type WorkerOffice
} from '../../../../test/kit/agents/worker-office.ts';
import { until } from '../../../../test/kit/judges/until.ts';
import { createProcesses } from '../../../adapters/child-process/processes.ts';
import { liveStateOf } from '../../runs/run-state.ts';
import type { Orchestrator } from '../orchestrator.ts';

const [one, other] = ['aaaaaaaa', 'bbbbbbbb'];
const now = { timeoutMs: 0, signal: new AbortController().signal };
const longMs = 30_000;
const processes = createProcesses('');

let office: WorkerOffice;
let master: Orchestrator;
/** Called whenever a program is about to start. */
let onStart: () => void;
let starts: number;

async function open(settings: object = {}): Promise<void> {
  [starts, onStart] = [0, () => undefined];
  const opened = await openOffice({ restart: 'on-crash', ...settings }, [
    {
      kind: 'cli',
      name: 'mine',
      description: 'Mine.',
      command: 'sh',
      args: () => ['-c', 'exec sleep 3600'],
      connect: () => {
        starts += 1;
        onStart();
        return { args: [] };
      }
    }
  ]);
  office = opened;
  master = office.master();
  const ending = master;
  onTestFinished(async () => {
    const forced = { force: true, confirm: true };
    for (const id of ending.store.ids())
      await ending.delete(id, forced).catch(() => undefined);
    opened.close();
  });
  await hire(one);
}

/** A worker that has asked for work. */
async function hire(id: string): Promise<void> {
  office.hire(id);
  await office.desk(id).waitForCommand(now);
}

beforeEach(() => open());

const folderOf = (id = one) => master.store.folderOf(id);
const queueOf = (id = one) => master.store.get(id).log.read();
const types = (id = one) => office.lines(id, 'outbox').map(({ type }) => type);
const commands = () => office.lines(one, 'inbox').map(({ type }) => type);

const stateOf = (generation: number, id = one) =>
  liveStateOf(
    { owner: processes.self },
    folderOf(id).start(generation),
    processes
  );

const untilBegun = (generation: number, id = one) =>
  until(
    `program ${generation} of ${id}`,
    () =>
      existsSync(join(folderOf(id).start(generation), 'claim')) &&
      stateOf(generation, id) === 'running',
    longMs
  );

/** Waits for a program that has started to be ended. */
async function untilEnded(generation: number): Promise<void> {
  await until('a start', () => starts > 0, longMs);
  await until(
    `the end of program ${generation}`,
    () => ['ended', 'lost'].includes(stateOf(generation)),
    longMs
  );
}

/** Appends a line as another process does, between two steps of this one. */
function append(file: 'inbox' | 'outbox', line: object): void {
  const seq = office.lines(one, file).length + 1;
  const at = new Date().toISOString();
  const text = JSON.stringify({ seq, at, ...line });
  appendFileSync(folderOf()[file], `${text}\n`);
}

const forced = { type: 'stop', payload: { force: true } };
const stopped = { type: 'stopped', by: 'troupe' };

describe('a worker whose program has crashed', () => {
  test('is not ended again, as its successor, by a server that judged it before', async () => {
    office.lose(one);
    const { log } = master.store.get(one);
    const read = log.read.bind(log);
    let reads = 0;
    // Right after this server has read that the first program should run,
    // another server records its end.
    log.read = () => {
      const queue = read();
      reads += 1;
      if (reads === 3)
        append('outbox', {
          ...{ type: 'crashed', by: 'troupe' },
          payload: { restarting: true }
        });
      return queue;
    };
    await master.attend();
    expect(reads).toBeGreaterThan(3);
    expect(types()).toEqual(['ready', 'crashed']);
    expect(queueOf().state.generation).toBe(2);
  });

  test('is started again once, however many servers notice it', async () => {
    office.lose(one);
    const masters = [master, office.master(), office.master()];
    await Promise.all(masters.map((each) => each.attend()));
    for (const each of masters) await each.attend();
    await untilBegun(2);
    for (const each of masters) await each.attend();
    expect(starts).toBe(1);
    expect(types()).toEqual(['ready', 'crashed']);
    expect(queueOf().state.generation).toBe(2);
    await office.desk(one).waitForCommand(now);
    expect(types()).toEqual(['ready', 'crashed', 'restarted']);
  });

  test('is started again by another server if its own ended before the start', async () => {
    // The crash is recorded and the next program announced, and no more.
    append('outbox', {
      type: 'crashed',
      payload: { restarting: true },
      by: 'troupe'
    });
    const directory = folderOf().start(2);
    await master.attend();
    expect(existsSync(directory)).toBe(false);
    await untilBegun(3);
    expect(types()).toEqual(['ready', 'crashed', 'crashed']);
    expect(starts).toBe(1);
  });

  test('is not started again if it never was ready', async () => {
    office.hire(other);
    writeFileSync(join(folderOf(other).start(1), 'owner'), '');
    await master.attend();
    expect(types(other)).toEqual(['crashed']);
    expect(existsSync(folderOf(other).request)).toBe(false);
    expect(existsSync(folderOf(one).request)).toBe(true);
    expect(starts).toBe(0);
  });

  test('is not started again unless it is configured', async () => {
    await open({ restart: 'never' });
    office.lose(one);
    await master.attend();
    expect(queueOf().status).toBe('crashed');
    expect(existsSync(folderOf().start(2))).toBe(false);
    expect(starts).toBe(0);
  });
});

describe('a worker that is deleted', () => {
  test('before its next program starts is not started again', async () => {
    await hire(other);
    const broadcastOf = master.store.broadcastOf.bind(master.store);
    // The events are published after the crash is recorded.
    master.store.broadcastOf = (run) => {
      if (queueOf().state.generation === 2 && !queueOf().state.isForced)
        append('inbox', forced);
      return broadcastOf(run);
    };
    office.lose(one);
    await master.attend();
    expect(commands()).toEqual(['stop']);
    expect(types()).toEqual(['ready', 'crashed']);
    // A start that is requested later comes later.
    office.lose(other);
    await master.attend();
    await untilBegun(2, other);
    expect(existsSync(join(folderOf().start(2), 'exit'))).toBe(false);
    expect(starts).toBe(1);
    expect(types()).toEqual(['ready', 'crashed', 'stopped']);
  });

  test('by force while its next program starts leaves no program', async () => {
    onStart = () => append('inbox', forced);
    office.lose(one);
    await master.attend();
    await untilEnded(2);
    await master.attend();
    expect(types()).toEqual(['ready', 'crashed', 'stopped']);
    expect(starts).toBe(1);
  });

  test('and recorded as stopped while its next program starts leaves no program', async () => {
    onStart = () => append('outbox', stopped);
    office.lose(one);
    await master.attend();
    await untilEnded(2);
    await master.attend();
    expect(types()).toEqual(['ready', 'crashed', 'stopped']);
    expect(existsSync(folderOf().request)).toBe(false);
  });
});

describe('the task of a program that crashed', () => {
  beforeEach(async () => {
    for (const id of ['a', 'b']) await master.enqueue(one, { id, payload: id });
    await office.desk(one).waitForCommand(now);
    expect(queueOf().running?.id).toBe('a');
  });

  /** The program crashes, and the next one asks for work. */
  async function crash() {
    office.lose(one);
    await master.attend();
    await untilBegun(2);
    return (await office.desk(one).waitForCommand(now)).given;
  }

  test('is given to the next one first', async () => {
    expect(await crash()).toMatchObject({
      task: { id: 'a', payload: 'a' },
      redelivered: true
    });
    expect(types()).toContain('requeued');
    expect(queueOf().tasks.map(({ id }) => id)).toEqual(['a', 'b']);
  });

  test('waits for nothing once it was canceled', async () => {
    await master.cancel(one, 'b');
    await crash();
    expect(queueOf().tasks.map(({ id }) => id)).toEqual(['a']);
    expect(office.lines(one, 'outbox')).toContainEqual(
      expect.objectContaining({ type: 'canceled', task_id: 'b', done: true })
    );
  });
});

test('the task of a program that crashed fails if that is configured', async () => {
  await open({ runningTask: 'fail' });
  for (const id of ['a', 'b']) await master.enqueue(one, { id, payload: id });
  await office.desk(one).waitForCommand(now);
  office.lose(one);
  await master.attend();
  await untilBegun(2);
  const { given } = await office.desk(one).waitForCommand(now);
  expect(given).toMatchObject({ task: { id: 'b' }, redelivered: false });
  expect(office.lines(one, 'outbox')).toContainEqual(
    expect.objectContaining({ type: 'error', task_id: 'a', done: true })
  );
  expect(commands()).toEqual(['task', 'task']);
});
