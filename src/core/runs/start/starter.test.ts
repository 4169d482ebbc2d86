import { existsSync } from 'node:fs';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { stopClock } from '../../../../test/kit/agents/process-stage.ts';
import {
  justBefore,
  watchFiles
} from '../../../../test/kit/judges/file-operations.ts';
import { until } from '../../../../test/kit/judges/until.ts';
import {
  outcomeWith,
  recordWith
} from '../../../../test/kit/servers/run-facts.ts';
import {
  gitIn,
  makeRepository
} from '../../../../test/kit/workspaces/git-workspace.ts';
import { deadHolder } from '../../../../test/kit/workspaces/lock-files.ts';
import {
  createSpawnStage,
  type SpawnStage
} from '../../../../test/kit/workspaces/spawn-stage.ts';
import { cancelRun } from '../end/stopper.ts';
import type { RunRecord } from '../run.ts';
import { claimOf, endedWith, stopRequestOf } from '../run-files.ts';
import type { SpawnRequest } from '../spawn-request.ts';
import { isStarting, setStarting } from '../start-marks.ts';
import { disconnectQueued } from './starter.ts';

vi.mock('node:fs', async () => {
  const judge = '../../../../test/kit/judges/file-operations.ts';
  return (await import(judge)).watchedFs();
});

let stage: SpawnStage;
let problems: unknown[];

beforeEach(() => {
  watchFiles();
  problems = [];
});

const config = { maxConcurrent: 1 };

async function spawned(prompt: string, more: Partial<SpawnRequest> = {}) {
  const request = { engine: 'shell', prompt, ...more };
  const { record, status } = await stage.spawner.spawn(request);
  return { id: record.agent_id, status };
}

function cancel(id: string, reason = 'the user') {
  const { runJournal: journal } = stage;
  const onProblem = (problem: unknown) => problems.push(problem);
  return cancelRun(id, { reason }, { ...stage, journal, onProblem });
}

const claim = (id: string) => {
  const { store, processes } = stage;
  return claimOf(store.directoryOf(id), processes.self.place);
};
const stop = (id: string) => stopRequestOf(stage.store.directoryOf(id));
const isAnnounced = (id: string) => isStarting(stage.store.directoryOf(id));
const atWork = (id: string) =>
  until('its agent', () => claim(id)?.watchdogs.length);

describe('a queued agent', () => {
  test('never starts after it was canceled, and the one behind it does', async () => {
    stage = await createSpawnStage({ config });
    const first = await spawned('x', { engine: 'still' });
    const second = await spawned('touch second');
    const third = await spawned('touch third');
    expect([first, second, third].map(({ status }) => status)).toEqual([
      'running',
      'queued',
      'queued'
    ]);
    const canceled = await cancel(second.id);
    expect(canceled?.outcome).toMatchObject({
      status: 'canceled',
      started_at: null
    });
    expect([claim(second.id)?.never, stop(second.id)?.reason]).toEqual([
      true,
      'the user'
    ]);
    expect(stage.starter.own().map((one) => one.agent_id)).toEqual([
      first.id,
      third.id
    ]);
    await atWork(first.id);
    await cancel(first.id);
    await until('the third', () => stage.hasRun('third'));
    expect(stage.hasRun('second')).toBe(false);
    expect(isAnnounced(second.id)).toBe(false);
  });

  test('never starts after its server has closed', async () => {
    stage = await createSpawnStage({ config });
    const { starter, store } = stage;
    const first = await spawned('x', { engine: 'still' });
    const second = await spawned('touch second');
    expect(disconnectQueued(starter, store)).toEqual([second.id]);
    expect([claim(second.id)?.never, stop(second.id)?.why]).toEqual([
      true,
      'disconnect'
    ]);
    const third = await spawned('touch third');
    expect(third.status).toBe('queued');
    await atWork(first.id);
    await cancel(first.id);
    starter.pump();
    expect(starter.ownRunning()).toEqual([]);
    expect([isAnnounced(second.id), isAnnounced(third.id)]).toEqual([
      false,
      false
    ]);
    expect(stage.hasRun('third')).toBe(false);
  });

  test('of an agent gives its slot back if its server has closed meanwhile', async () => {
    stage = await createSpawnStage({ config, inside: 'eeeeeeee' });
    const { starter } = stage;
    starter.close();
    const { id, status } = await spawned('touch ran');
    expect([status, isAnnounced(id)]).toEqual(['queued', false]);
    expect(starter.ownRunning()).toEqual([]);
  });

  test('that an agent spawned fails after 10 s without a slot', async () => {
    stage = await createSpawnStage({ config, inside: 'eeeeeeee' });
    const { store, processes, starter } = stage;
    const other = await stage.another();
    const [slot, before] = ['aaaaaaaa', 'cccccccc'].map((agent_id) => {
      const record = recordWith({ agent_id, owner: processes.self });
      store.create(record, 'x', 'x');
      return record;
    });
    if (!slot || !before) throw new Error('There are no records.');
    store.end('cccccccc', outcomeWith());
    // An announcement expires after 2 s.
    vi.useFakeTimers({ toFake: ['Date'] });
    expect(other.starter.slots.takeNow(slot)).toBe('taken');
    const pass = stopClock();
    const after = [{ agentId: before.agent_id, delayMs: 0 }];
    const { id } = await spawned('touch ran', { after });
    pass(9999);
    starter.pump();
    expect(starter.own().map((one) => one.agent_id)).toEqual([id]);
    pass(1);
    starter.pump();
    expect(starter.own()).toEqual([]);
    expect(claim(id)?.never).toBe(true);
    const run = await stage.tracker.run(id);
    expect(run?.outcome?.error).toContain('no slot was free for 10 s');
    other.starter.slots.withdraw(slot);
    starter.pump();
    expect([isAnnounced(id), stage.hasRun('ran')]).toEqual([false, false]);
  });
});

test('an agent that is canceled while its worktree is made never starts, and leaves no worktree', async () => {
  stage = await createSpawnStage({ config, before: makeRepository });
  const { starter, store, workspace } = stage;
  const { id } = await spawned('touch ran', { isolate: 'worktree' });
  const worktree = store.recordOf(id)?.worktree;
  expect(starter.ownRunning()).toEqual([id]);
  const canceled = await cancel(id);
  expect(canceled?.outcome?.status).toBe('canceled');
  await starter.prepared();
  expect(starter.own()).toEqual([]);
  expect(worktree && existsSync(worktree.path)).toBe(false);
  expect(gitIn(workspace.path, 'branch', '--list', 'troupe/*')).toBe('');
  const next = await spawned('touch next');
  await until('the next one', () => stage.hasRun('next'));
  expect([next.status, claim(id)?.never]).toEqual(['running', true]);
});

describe('an agent whose server was killed while it prepared it', () => {
  /** Files of such an agent, and of its parent. */
  async function orphan(changes: Partial<RunRecord> = {}): Promise<RunRecord> {
    const { store, workspace } = stage;
    const owner = await deadHolder();
    const [agent_id, engine, cwd] = ['bbbbbbbb', 'shell', workspace.path];
    const record = recordWith({ agent_id, engine, cwd, owner, ...changes });
    store.create(record, 'touch ran', 'touch ran');
    setStarting(store.directoryOf(agent_id), true);
    return record;
  }

  function parent(): string {
    const { store, processes } = stage;
    const agent_id = 'aaaaaaaa';
    const owner = processes.self;
    store.create(recordWith({ agent_id, owner }), 'x', 'x');
    return agent_id;
  }

  test('is started by another, once', async () => {
    stage = await createSpawnStage();
    const record = await orphan({ parent: parent() });
    stage.starter.takeOver(record);
    stage.starter.takeOver(record);
    expect(stage.starter.own()).toHaveLength(1);
    await until('it has run', () => stage.hasRun('ran'));
  });

  test('never starts once its parent has ended', async () => {
    stage = await createSpawnStage();
    const record = await orphan({ parent: parent() });
    stage.store.end('aaaaaaaa', outcomeWith());
    stage.starter.takeOver(record);
    expect(claim('bbbbbbbb')?.never).toBe(true);
    expect(stage.starter.own()).toEqual([]);
  });

  test.each([{ access: 'full' as const }, { engine: 'none' }])(
    'is left to others by a server that has no %o',
    async (changes) => {
      stage = await createSpawnStage({ config: { maxAccess: 'read' } });
      stage.starter.takeOver(await orphan({ access: 'read', ...changes }));
      expect(claim('bbbbbbbb')).toBeUndefined();
      expect(stage.starter.own()).toEqual([]);
    }
  );
});

describe('the end of an agent on request', () => {
  const child = (agent_id: string, parent: string) =>
    stage.store.create(
      recordWith({ agent_id, parent, owner: stage.processes.self }),
      'x',
      'x'
    );

  test('ends those that it has spawned, before and meanwhile, and no other', async () => {
    stage = await createSpawnStage({ config });
    const { id } = await spawned('x', { engine: 'still' });
    await atWork(id);
    child('aaaaaaaa', id);
    child('bbbbbbbb', 'ffffffff');
    const { kill } = process;
    vi.spyOn(process, 'kill').mockImplementation((pid, signal) => {
      if (signal === 'SIGTERM') child('cccccccc', id);
      return kill.call(process, pid, signal);
    });
    expect((await cancel(id))?.outcome?.status).toBe('canceled');
    expect(stop(id)).toMatchObject({ why: 'canceled', reason: 'the user' });
    for (const one of ['aaaaaaaa', 'cccccccc']) {
      expect(claim(one)?.never).toBe(true);
      expect(stop(one)).toMatchObject({
        why: 'canceled',
        reason: endedWith(id)
      });
    }
    expect([claim('bbbbbbbb'), stop('bbbbbbbb')]).toEqual([
      undefined,
      undefined
    ]);
  });

  test('does not need the journal, whose problem is reported', async () => {
    stage = await createSpawnStage({ config });
    const { id } = await spawned('x', { engine: 'still' });
    await atWork(id);
    const problem = new Error('no journal');
    justBefore('write', '/iac.jsonl', () => {
      throw problem;
    });
    expect((await cancel(id))?.outcome?.status).toBe('canceled');
    expect(problems).toEqual([problem]);
  });

  test('changes nothing after it has ended by itself', async () => {
    stage = await createSpawnStage({ config });
    const { id } = await spawned('echo done');
    await until('its end', async () => {
      await stage.tracker.look(id);
      return !stage.store.isOpen(id);
    });
    // Views are still being written.
    const ofRecord = () =>
      Object.entries(stage.files()).filter(([path]) => !/^.logs./.test(path));
    const before = ofRecord();
    expect((await cancel(id))?.outcome?.status).toBe('completed');
    expect(ofRecord()).toEqual(before);
    expect(stop(id)).toBeUndefined();
    expect(await cancel('00000000')).toBeUndefined();
  });
});
