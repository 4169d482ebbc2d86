import {
  existsSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import {
  createProcessStage,
  type ProcessStage,
  stopClock
} from '../../../../test/kit/agents/process-stage.ts';
import {
  openOffice,
  type WorkerOffice
} from '../../../../test/kit/agents/worker-office.ts';
import { partsOn } from '../../../../test/kit/agents/worker-parts.ts';
import {
  isStillThere,
  type ProcessEntry
} from '../../../adapters/child-process/process-table.ts';
import type { Ancestor, Processes, StopTarget } from '../../runs/ports.ts';
import type { WorkerFolder } from '../queue/worker-folder.ts';
import type { WorkerStore } from '../queue/worker-store.ts';
import { LostWorkers, OwnProgram } from './lost-workers.ts';
import { WorkerProcess } from './worker-process.ts';

const id = 'aaaaaaaa';
const now = { timeoutMs: 0, signal: new AbortController().signal };
const none = new Set<string>();

let stage: ProcessStage;
let office: WorkerOffice;
let store: WorkerStore;
let folder: WorkerFolder;
let problems: unknown[];

beforeEach(async () => {
  stage = createProcessStage();
  office = await openOffice();
  onTestFinished(() => office.close());
  problems = [];
  office.hire(id);
  store = office.reader();
  folder = store.folderOf(id);
});

/** A supervisor with a child, which ends after its child. */
function program(generation = 1): ProcessEntry {
  const directory = folder.start(generation);
  const entry = stage.start('sleep 100; exit 0', {
    TROUPE_AGENT_DIR: directory
  });
  const { pid, start } = entry;
  writeFileSync(join(directory, 'claim'), `${pid} ${start}\n\n`);
  return entry;
}

function lostWorkers(changes: Partial<Processes> = {}): LostWorkers {
  const terminal = { socket: '/its/socket', closed: [] };
  const parts = partsOn(office, store, id, terminal);
  const processes = { ...parts.processes, ...changes };
  const onProblem = (problem: unknown) => problems.push(problem);
  const with_ = { ...parts, processes, onProblem };
  return new LostWorkers(with_, new WorkerProcess(with_));
}

/** As a process that has seen the worker. */
function noted(changes: Partial<Processes> = {}): LostWorkers {
  const lost = lostWorkers(changes);
  lost.note(store.get(id));
  return lost;
}

describe('a worker whose record is removed', () => {
  test('is ended a second later, and its tasks are reported', async () => {
    const pass = stopClock();
    const supervisor = program();
    await office.desk(id).waitForCommand(now);
    await office.master().enqueue(id, { id: 'a-task', payload: {} });
    const lost = noted();
    rmSync(folder.meta);
    await lost.reconcile(none);
    pass(900);
    await lost.reconcile(none);
    expect(isStillThere(supervisor)).toBe(true);
    expect(problems).toEqual([]);
    pass(200);
    await lost.reconcile(none);
    expect(isStillThere(supervisor)).toBe(false);
    expect(problems).toEqual([
      `The record of worker ${id} "One" was removed or damaged, so its program was ended. Tasks that have no end: a-task.`
    ]);
    expect(() => store.get(id)).toThrow('its program was ended');
    await lost.reconcile(none);
    expect(problems).toHaveLength(1);
  });

  test('and put back in time goes on, and has a second again', async () => {
    const pass = stopClock();
    const supervisor = program();
    const lost = noted();
    for (let time = 0; time < 3; time += 1) {
      renameSync(folder.meta, `${folder.meta}.away`);
      await lost.reconcile(none);
      pass(900);
      await lost.reconcile(none);
      renameSync(`${folder.meta}.away`, folder.meta);
      lost.note(store.get(id));
    }
    await lost.end(id);
    expect(isStillThere(supervisor)).toBe(true);
    expect(problems).toEqual([]);
  });

  test('is ended by a process that has never seen it, by what is left', async () => {
    const pass = stopClock();
    const supervisor = program();
    const lost = lostWorkers();
    rmSync(folder.meta);
    await lost.reconcile(none);
    pass(1100);
    await lost.reconcile(none);
    expect(isStillThere(supervisor)).toBe(false);
    expect(problems).toEqual([expect.stringContaining(`worker ${id} was`)]);
  });

  test('is ended with its next program, which this process has not seen', async () => {
    const first = program();
    const lost = noted();
    office.lose(id);
    const directory = folder.start(2);
    renameSync(folder.start(1), directory);
    const second = program(2);
    rmSync(folder.meta);
    await lost.end(id);
    expect(isStillThere(second)).toBe(false);
    expect(first.pid).not.toBe(second.pid);
  });

  test('is ended though all of its files are gone and it is paused', async () => {
    const supervisor = program();
    const lost = noted();
    process.kill(supervisor.pid, 'SIGSTOP');
    rmSync(folder.private, { recursive: true });
    await lost.end(id);
    expect(isStillThere(supervisor)).toBe(false);
    expect(problems).toHaveLength(1);
  });

  test('is reported with the tasks that it had before its files were emptied', async () => {
    program();
    await office.desk(id).waitForCommand(now);
    await office.master().enqueue(id, { id: 'a-task', payload: {} });
    const lost = noted();
    for (const path of [folder.outbox, folder.inbox]) truncateSync(path);
    lost.note(store.get(id));
    rmSync(folder.private, { recursive: true });
    await lost.end(id);
    expect(problems).toEqual([
      expect.stringContaining('Tasks that have no end: a-task.')
    ]);
  });

  test('is not reported once it is over, or before its program has begun', async () => {
    const unbegun = noted();
    program();
    const lost = noted();
    const worker = store.get(id);
    await worker.log.change(() => ({
      events: [{ type: 'stopped', by: 'troupe' }],
      result: undefined
    }));
    lost.note(worker);
    rmSync(folder.private, { recursive: true });
    for (const one of [unbegun, lost]) await one.end(id);
    expect(problems).toEqual([]);
  });

  test('and cannot be ended is reported once, and tried again', async () => {
    const pass = stopClock();
    program();
    let survivors = [4711, 4712];
    const stopped: StopTarget[] = [];
    const lost = noted({
      stop: async (target) => {
        stopped.push(target);
        return { survivors };
      }
    });
    rmSync(folder.meta);
    await lost.reconcile(none);
    pass(1100);
    for (let time = 0; time < 3; time += 1) await lost.reconcile(none);
    expect(problems).toEqual([
      expect.stringContaining('processes 4711, 4712 survive SIGKILL')
    ]);
    expect(() => store.get(id)).toThrow('survive SIGKILL');
    expect(stopped).toHaveLength(3);
    survivors = [];
    await lost.reconcile(none);
    expect(problems.at(-1)).toContain('so its program was ended');
  });

  test('is left alone if it is known to be over', async () => {
    const pass = stopClock();
    const supervisor = program();
    const lost = lostWorkers();
    rmSync(folder.meta);
    await lost.reconcile(new Set([id]));
    pass(2000);
    await lost.reconcile(new Set([id]));
    expect(isStillThere(supervisor)).toBe(true);
  });
});

test('every master ends workers whose record is removed', async () => {
  const pass = stopClock();
  const supervisor = program();
  const master = office.master();
  await master.attend();
  rmSync(folder.meta);
  await master.attend();
  pass(1100);
  await master.attend();
  expect(isStillThere(supervisor)).toBe(false);
  expect(() => master.store.get(id)).toThrow('its program was ended');
});

describe('a worker’s own server', () => {
  /** The server of a program in this folder, and what it has ended. */
  function ownServer(directory: string) {
    const stopped: StopTarget[] = [];
    const { processes } = partsOn(office, store, id, {
      socket: '',
      closed: []
    });
    const marks = { agentId: id, directory, depth: '1' };
    const above: Ancestor = { identity: processes.self, marks };
    const own = new OwnProgram({
      ...{ store, agentId: id },
      processes: () => ({
        ...processes,
        ancestors: () => [above],
        stop: async (target) => {
          stopped.push(target);
          return { survivors: [] };
        }
      }),
      onProblem: (problem) => problems.push(problem)
    });
    return { own, stopped, place: processes.self.place };
  }

  test('ends its program five seconds after the record is gone', async () => {
    const pass = stopClock();
    const directory = folder.start(1);
    const { own, stopped, place } = ownServer(directory);
    await own.look();
    rmSync(folder.meta);
    await own.look();
    pass(4900);
    await own.look();
    expect([stopped, problems]).toEqual([[], []]);
    pass(200);
    await own.look();
    expect(stopped).toEqual([{ directory, place, withNested: true }]);
    expect(problems).toEqual([expect.stringContaining(`worker ${id} was`)]);
  });

  test('ends no program of another worker, and restores the copies of its own', async () => {
    const pass = stopClock();
    const other = store.folderOf('bbbbbbbb').start(1);
    const { own, stopped } = ownServer(other);
    const copy = join(folder.public, 'meta.json');
    rmSync(copy);
    await own.look();
    expect(existsSync(copy)).toBe(true);
    rmSync(folder.meta);
    for (let time = 0; time < 3; time += 1) {
      await own.look();
      pass(4000);
    }
    expect(stopped).toEqual([]);
  });
});
