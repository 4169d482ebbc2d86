import { readFileSync, rmSync } from 'node:fs';
import { expect, test, vi } from 'vitest';
import {
  countOf,
  justBefore,
  watchFiles
} from '../../../../test/kit/judges/file-operations.ts';
import { until } from '../../../../test/kit/judges/until.ts';
import {
  createSpawnStage,
  type SpawnStage,
  type StageOptions
} from '../../../../test/kit/workspaces/spawn-stage.ts';
import { lastEnded } from '../../audit/journal/recently-ended.ts';
import { cancelRun } from '../end/stopper.ts';
import { wasLaunched } from '../run-files.ts';
import type { Spawned, SpawnRequest } from '../spawn-request.ts';

vi.mock('node:fs', async () => {
  const { watchedFs } = await import(
    '../../../../test/kit/judges/file-operations.ts'
  );
  return watchedFs();
});

const count = 24;
const request: SpawnRequest = { engine: 'shell', prompt: 'true' };
let stage: SpawnStage;

/** Asks for many agents at once; each makes a file and stays at work. */
function spawnMany(changes: Partial<SpawnRequest> = {}): Promise<Spawned>[] {
  return Array.from({ length: count }, (_, n) =>
    stage.spawner.spawn({
      ...{ ...request, prompt: `touch ${n}; exec sleep 100` },
      ...changes
    })
  );
}

async function createStage(config: StageOptions['config'] = {}) {
  watchFiles();
  stage = await createSpawnStage({ config: { maxConcurrent: 100, ...config } });
}

/**
 * Holds the starts that come after the answers until the returned function is
 * called: on a slow disk, they come together.
 */
function holdStarts(): () => void {
  let begin = () => {};
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  vi.spyOn(stage.starter.throttle, 'later').mockReturnValue(begun);
  return begin;
}

function cancel(id: string): Promise<unknown> {
  const { runJournal: journal } = stage;
  return cancelRun(id, {}, { ...stage, journal, onProblem: vi.fn() });
}

/** Whether the first agents have made their files. */
function haveRun(most: number): boolean {
  return Array.from({ length: most }, (_, n) => String(n)).every((name) =>
    stage.hasRun(name)
  );
}

function launched(spawned: Spawned[]): number {
  return spawned.filter(({ record: { agent_id: id } }) =>
    wasLaunched(stage.store.directoryOf(id))
  ).length;
}

test('many agents are answered before they start, and all start', async () => {
  await createStage();
  const begin = holdStarts();
  const spawned = await Promise.all(spawnMany());
  expect(spawned.map(({ status }) => status)).toEqual(
    Array(count).fill('running')
  );
  expect(launched(spawned)).toBe(8);
  begin();
  await stage.starter.prepared();
  expect(launched(spawned)).toBe(count);
  await until('all of them', () => haveRun(count));
});

test('many agents take the slots in the order of their spawns', async () => {
  await createStage({ maxConcurrent: 3 });
  const spawned = await Promise.all(spawnMany({ engine: 'still' }));
  expect(spawned.map(({ status }) => status)).toEqual(
    Array.from({ length: count }, (_, n) => (n < 3 ? 'running' : 'queued'))
  );
  expect(stage.starter.own().map((record) => record.agent_id)).toEqual(
    spawned.map(({ record }) => record.agent_id)
  );
});

test('agents that wait for a slot do not start before others are answered', async () => {
  await createStage({ maxConcurrent: 2 });
  const begin = holdStarts();
  const prompt = 'until [ -e go ]; do sleep 0.05; done';
  const spawned = await Promise.all(spawnMany({ prompt }));
  const first = spawned.slice(0, 2).map(({ record }) => record.agent_id);
  expect(stage.starter.ownRunning()).toEqual(first);
  stage.workspace.write('go', '');
  await until('the next', () =>
    stage.starter.ownRunning().every((id) => !first.includes(id))
  );
  expect(stage.starter.ownRunning()).toHaveLength(2);
  expect(launched(spawned)).toBe(2);
  begin();
  await until('all of them', () => launched(spawned) === count);
});

test('many agents at once keep to the limit of a minute', async () => {
  await createStage({ maxSpawnsPerMinute: 5 });
  const results = await Promise.allSettled(spawnMany());
  const refused = results.filter(({ status }) => status === 'rejected');
  expect(refused).toHaveLength(count - 5);
  expect(refused[0]).toMatchObject({ reason: { code: 'spawn_rate' } });
  expect(stage.store.ids()).toHaveLength(5);
});

test('of many agents at once the first start before they are answered', async () => {
  await createStage();
  const spawns = spawnMany();
  for (const spawn of spawns.slice(0, 8)) {
    const { record } = await spawn;
    expect(wasLaunched(stage.store.directoryOf(record.agent_id))).toBe(true);
  }
  await Promise.all(spawns);
});

test('many spawns with one request id start one agent', async () => {
  await createStage();
  const spawned = await Promise.all(spawnMany({ requestId: 'same' }));
  const ids = new Set(spawned.map(({ record }) => record.agent_id));
  expect(ids.size).toBe(1);
  expect(spawned.filter(({ repeated }) => !repeated)).toHaveLength(1);
});

test('one of many that cannot be written does not affect the others', async () => {
  await createStage();
  const spawns = spawnMany();
  spawns.push(stage.spawner.spawn({ ...request, agentId: 'dddddddd' }));
  justBefore('rename', '/spawns/dddddddd', () => {
    throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' });
  });
  const results = await Promise.allSettled(spawns);
  const refused = results.filter(({ status }) => status === 'rejected');
  expect(refused).toMatchObject([{ reason: { code: 'storage_full' } }]);
  expect(stage.store.ids()).toHaveLength(count);
  expect(stage.store.openIds()).toHaveLength(count);
  expect([...stage.starter.slots.coming]).toEqual([]);
});

test('one of many that is canceled before its start never starts', async () => {
  await createStage();
  const prepare = vi.spyOn(stage.changeTracker, 'prepare');
  const begin = holdStarts();
  const spawned = await Promise.all(spawnMany());
  const last = spawned.at(-1)?.record.agent_id ?? '';
  await cancel(last);
  begin();
  await stage.starter.prepared();
  await until('the others', () => haveRun(count - 1));
  expect(stage.hasRun(String(count - 1))).toBe(false);
  expect(stage.store.outcomeOf(last)?.status).toBe('canceled');
  // A worktree that is made after the end is known to no one.
  const prepared = prepare.mock.calls.map(([{ agent_id }]) => agent_id);
  expect(prepared).toHaveLength(count - 1);
  expect(prepared).not.toContain(last);
});

/** What happens once its folder is there, and is not on the disk yet. */
function whileWritten(id: string, act: () => void): void {
  justBefore('rename', `/spawns/${id}`, () => queueMicrotask(act));
}

function journalled(id: string): string[] {
  return readFileSync(stage.journal.path, 'utf8')
    .split('\n')
    .filter((line) => line.includes(`"${id}"`))
    .map((line) => JSON.parse(line).type);
}

test('one of many that is canceled while it is written is answered as canceled', async () => {
  await createStage();
  const id = 'dddddddd';
  let canceled: Promise<unknown> | undefined;
  whileWritten(id, () => {
    canceled = cancel(id);
  });
  const others = spawnMany();
  const answer = await stage.spawner.spawn({ ...request, agentId: id });
  await Promise.all(others);
  expect(await canceled).toMatchObject({ status: 'canceled' });
  expect(answer).toMatchObject({ status: 'canceled', repeated: false });
  expect(journalled(id)).toEqual(['cancel_requested', 'spawned', 'finished']);
});

test('one of many that is written as the journal is removed is journalled once', async () => {
  await createStage();
  const id = 'dddddddd';
  let look: Promise<void> | undefined;
  whileWritten(id, () => {
    rmSync(stage.journal.path);
    const record = stage.store.recordOf(id);
    look = record && stage.runJournal.restoreSpawn(record);
  });
  const others = spawnMany();
  await stage.spawner.spawn({ ...request, agentId: id });
  await Promise.all([...others, look]);
  expect(look).toBeDefined();
  expect(journalled(id)).toEqual(['spawned']);
});

test('a search for the last ends does not look at agents without one', async () => {
  await createStage();
  const spawned = await Promise.all(spawnMany());
  const looks = spawned.map(({ record }) =>
    countOf('stat', `/spawns/${record.agent_id}`)
  );
  const { journal, store } = stage;
  expect(lastEnded(journal.files, store, 3, [])).toEqual([]);
  expect(looks).toEqual(Array(count).fill({ times: 0 }));
});

test('many that ask what is open at once share a look at the marks', async () => {
  await createStage();
  await Promise.all(spawnMany());
  const looks = countOf('list', '/open');
  const { tracker } = stage;
  const all = await Promise.all(
    Array.from({ length: 50 }, () => tracker.active())
  );
  expect(all.map((active) => active.length)).toEqual(Array(50).fill(24));
  expect(looks.times).toBe(2);
});
