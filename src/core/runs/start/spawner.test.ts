import { beforeEach, describe, expect, test, vi } from 'vitest';
import {
  justBefore,
  watchFiles
} from '../../../../test/kit/judges/file-operations.ts';
import { until } from '../../../../test/kit/judges/until.ts';
import { recordWith } from '../../../../test/kit/servers/run-facts.ts';
import {
  createSpawnStage,
  type SpawnStage
} from '../../../../test/kit/workspaces/spawn-stage.ts';
import type { SpawnRequest } from '../spawn-request.ts';
import { isStarting } from '../start-marks.ts';

vi.mock('node:fs', async () => {
  const { watchedFs } = await import(
    '../../../../test/kit/judges/file-operations.ts'
  );
  return watchedFs();
});

const parent = 'eeeeeeee';
const request: SpawnRequest = { engine: 'shell', prompt: 'touch ran' };
let stage: SpawnStage;

beforeEach(watchFiles);

const fail = (code: string) => () => {
  throw Object.assign(new Error(code), { code });
};

/** Fails unless a refused spawn leaves every file as it was. */
async function expectRefused(
  code: string,
  changes: Partial<SpawnRequest> = {}
): Promise<void> {
  const { spawner, store, starter } = stage;
  const before = stage.files();
  const open = store.openIds();
  await expect(spawner.spawn({ ...request, ...changes })).rejects.toMatchObject(
    { code }
  );
  expect(stage.files()).toEqual(before);
  expect(store.openIds()).toEqual(open);
  expect(starter.own()).toEqual([]);
}

async function expectStarted(changes: Partial<SpawnRequest> = {}) {
  const spawned = await stage.spawner.spawn({ ...request, ...changes });
  expect(spawned).toMatchObject({ status: 'running', repeated: false });
  await until('the script', () => stage.hasRun('ran'));
  return spawned.record;
}

describe('a spawn that is refused leaves nothing', () => {
  test('if the caller is too deep', async () => {
    stage = await createSpawnStage({ config: { maxDepth: 1 }, inside: parent });
    await expectRefused('depth_limit');
  });

  test('if its directory is none of the workspace’s', async () => {
    stage = await createSpawnStage();
    await expectRefused('cwd_outside', { cwd: '..' });
    await expectRefused('cwd_missing', { cwd: 'none' });
  });

  test('if its engine is unknown', async () => {
    stage = await createSpawnStage();
    await expectRefused('unknown_engine', { engine: 'none' });
  });

  test('if it has to ask and its engine cannot be held to that', async () => {
    stage = await createSpawnStage();
    await expectRefused('ask_unsupported', { ask: 'person' });
    await expectStarted({ ask: 'none' });
  });

  test('if there is no repository for its worktree', async () => {
    stage = await createSpawnStage();
    await expectRefused('no_repository', { isolate: 'worktree' });
  });

  test('if the disk limit is reached, and one with room is started', async () => {
    const config = { diskLimitMegabytes: 1 };
    stage = await createSpawnStage({ config });
    const { store, processes } = stage;
    const record = recordWith({ agent_id: 'aaaaaaaa', owner: processes.self });
    store.create(record, 'x'.repeat(1024 * 1024), 'x');
    await expectRefused('disk_limit');
    store.discard('aaaaaaaa');
    await expectStarted();
  });

  test('if there were too many within a minute', async () => {
    stage = await createSpawnStage({ config: { maxSpawnsPerMinute: 1 } });
    const { agent_id: id } = await expectStarted();
    await until('its page, which is written last', () =>
      Object.keys(stage.files()).includes(`/logs/agents/${id}.md`)
    );
    await until('its slot', () => stage.starter.own().length === 0);
    await expectRefused('spawn_rate');
  });

  test('if an agent asks for it and no slot is free', async () => {
    const config = { maxConcurrent: 1 };
    stage = await createSpawnStage({ config, inside: parent });
    const other = await stage.another();
    const { store, processes } = stage;
    const record = recordWith({ agent_id: 'aaaaaaaa', owner: processes.self });
    store.create(record, 'x', 'x');
    // An announcement expires after 2 s.
    vi.useFakeTimers({ toFake: ['Date'] });
    expect(other.starter.slots.takeNow(record)).toBe('taken');
    let isWritten = false;
    justBefore('open', '/unstarted', () => {
      isWritten = true;
    });
    await expectRefused('at_capacity');
    expect(isWritten).toBe(false);
    other.starter.slots.withdraw(record);
    await expectStarted();
  });
});

test('a spawn by an agent whose slot is taken meanwhile leaves nothing, and does not count', async () => {
  const config = { maxConcurrent: 1, maxSpawnsPerMinute: 10 };
  stage = await createSpawnStage({ config, inside: parent });
  const { spawner, store, processes, starter } = stage;
  const other = recordWith({ agent_id: 'aaaaaaaa', owner: processes.self });
  const before = stage.files();
  // Its folder is in place then, and its slot is not taken.
  justBefore('rename', 'spawns/bbbbbbbb', () => {
    store.create(other, 'x', 'x');
    expect(starter.slots.takeNow(other)).toBe('taken');
  });
  const agentId = 'bbbbbbbb';
  await expect(spawner.spawn({ ...request, agentId })).rejects.toMatchObject({
    code: 'at_capacity'
  });
  expect(starter.ownRunning()).toEqual(['aaaaaaaa']);
  starter.slots.withdraw(other);
  store.discard('aaaaaaaa');
  expect(stage.files()).toEqual(before);
  // An agent may start one in a minute.
  await expectStarted({ agentId });
});

describe('a spawn whose line in the journal fails', () => {
  const requestId = 'once';

  test.each([
    ['ENOSPC', 'storage_full'],
    ['EIO', 'storage_unwritable']
  ])('with %s is taken back', async (errno, code) => {
    stage = await createSpawnStage();
    justBefore('open', '/iac.jsonl', fail(errno));
    await expectRefused(code, { requestId });
    const { agent_id: id } = await expectStarted({ requestId });
    expect(stage.store.newId(requestId)).toBe(id);
    const again = await stage.spawner.spawn({ ...request, requestId });
    expect(again).toMatchObject({ repeated: true, record: { agent_id: id } });
  });

  test('gives back the slot of an agent that another one spawns', async () => {
    const config = { maxConcurrent: 1 };
    stage = await createSpawnStage({ config, inside: parent });
    justBefore('open', '/iac.jsonl', () => {
      expect(stage.starter.ownRunning()).toEqual(['bbbbbbbb']);
      expect(isStarting(stage.store.directoryOf('bbbbbbbb'))).toBe(true);
      fail('ENOSPC')();
    });
    await expectRefused('storage_full', { agentId: 'bbbbbbbb' });
    await expectStarted();
  });

  test('is taken back if it has failed at once, too', async () => {
    stage = await createSpawnStage();
    const { store, events } = stage;
    const seen: string[] = [];
    events.onRunSpawned(({ agent_id: id }) => seen.push(id));
    events.onRunEnded(({ record }) => seen.push(record.agent_id));
    justBefore('open', '/iac.jsonl', fail('ENOSPC'));
    await expectRefused('storage_full', { engine: 'gone', requestId });
    expect(seen).toEqual([]);
    const failed = await stage.spawner.spawn({ ...request, engine: 'gone' });
    const { agent_id: id } = failed.record;
    expect(failed).toMatchObject({ status: 'failed' });
    expect(seen).toEqual([id, id]);
    expect(store.openIds()).toEqual([]);
  });

  test('is published to no one', async () => {
    stage = await createSpawnStage();
    let isPublished = false;
    stage.events.onRunSpawned(() => {
      isPublished = true;
    });
    justBefore('open', '/iac.jsonl', fail('EIO'));
    await expectRefused('storage_unwritable');
    expect(isPublished).toBe(false);
    await expectStarted();
    expect(isPublished).toBe(true);
  });
});

describe('a spawn whose folder cannot be written', () => {
  test.each([
    ['make', '/prompt.txt'],
    ['make', '/record.json'],
    ['rename', 'spawns/bbbbbbbb'],
    ['open', 'open/bbbbbbbb']
  ] as const)(
    '(%s %s) leaves nothing, and its slot is free',
    async (kind, end) => {
      const config = { maxConcurrent: 1 };
      stage = await createSpawnStage({ config, inside: parent });
      justBefore(kind === 'make' ? 'open' : kind, end, fail('ENOSPC'));
      await expectRefused('storage_full', { agentId: 'bbbbbbbb' });
      await expectStarted({ agentId: 'bbbbbbbb' });
    }
  );
});

test('a spawn whose id is taken meanwhile by the same request is that spawn', async () => {
  stage = await createSpawnStage();
  const requestId = 'once';
  const { store, processes } = stage;
  const id = store.newId(requestId);
  justBefore('rename', `spawns/${id}`, () => {
    const { self: owner } = processes;
    const changes = { agent_id: id, request_id: requestId, owner };
    store.create(recordWith(changes), 'x', 'x');
  });
  const { repeated, record } = await stage.spawner.spawn({
    ...request,
    requestId
  });
  expect([repeated, record.agent_id]).toEqual([true, id]);
  expect(stage.starter.own()).toEqual([]);
  expect(store.ids()).toEqual([id]);
});

test('an agent with the id of a request that is not its own is not the answer', async () => {
  stage = await createSpawnStage();
  const { store, processes } = stage;
  const id = store.newId('once');
  const changes = { request_id: 'other', owner: processes.self };
  store.create(recordWith({ agent_id: id, ...changes }), 'x', 'x');
  const record = await expectStarted({ requestId: 'once' });
  expect([record.request_id, record.agent_id === id]).toEqual(['once', false]);
});
