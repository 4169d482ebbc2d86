import { beforeEach, describe, expect, test, vi } from 'vitest';
import { stopClock } from '../../../test/kit/agents/process-stage.ts';
import {
  justBefore,
  watchFiles
} from '../../../test/kit/judges/file-operations.ts';
import { until } from '../../../test/kit/judges/until.ts';
import { recordWith } from '../../../test/kit/servers/run-facts.ts';
import {
  createSpawnStage,
  type SpawnStage,
  type StageOptions
} from '../../../test/kit/workspaces/spawn-stage.ts';
import { claimOf } from '../runs/run-files.ts';
import { holdersOf } from '../runs/sessions/session-turns.ts';
import type { MemberRequest } from './plan-members.ts';

vi.mock('node:fs', async () => {
  const judge = '../../../test/kit/judges/file-operations.ts';
  return (await import(judge)).watchedFs();
});

const parent = 'eeeeeeee';
let stage: SpawnStage;

beforeEach(watchFiles);

const fail = (code: string) => () => {
  throw Object.assign(new Error(code), { code });
};

function members(count: number, chatId?: string): MemberRequest[] {
  const one = { roleId: 'planner', task: 'x', chatId };
  return Array.from({ length: count }, () => one);
}

async function open(options: StageOptions = {}) {
  stage = await createSpawnStage(options);
}

/** Fails unless a refused squad leaves every file as it was. */
async function expectRefused(
  code: string,
  requests: MemberRequest[]
): Promise<void> {
  const { squads, store, starter } = stage;
  const before = kept();
  const ids = store.ids();
  const marks = store.openIds();
  await expect(squads.start({ members: requests })).rejects.toMatchObject({
    code
  });
  expect(kept()).toEqual(before);
  expect([store.ids(), store.openIds()]).toEqual([ids, marks]);
  expect(starter.own()).toEqual([]);
}

/** The number of a released turn stays used, because others have counted it. */
function kept(): Record<string, string> {
  const files = Object.entries(stage.files());
  return Object.fromEntries(
    files.filter(([path, text]) => text !== '' || !path.includes('/sessions/'))
  );
}

async function expectStarted(requests: MemberRequest[]) {
  const started = await stage.squads.start({ members: requests });
  expect(started.refused.size).toBe(0);
  expect(stage.squads.get(started.squad.squadId)).toEqual(started.squad);
  return started;
}

describe('a squad that is refused leaves nothing', () => {
  test('if its caller is too deep', async () => {
    await open({ config: { maxDepth: 1 }, inside: parent });
    await expectRefused('depth_limit', members(1));
  });

  test('if one of its members is invalid', async () => {
    await open();
    const unknown = { roleId: 'nobody', task: 'x' };
    await expectRefused('unknown_role', [...members(1), unknown]);
  });

  test('if the disk limit is reached', async () => {
    await open({ config: { diskLimitMegabytes: 1 } });
    const { store, processes } = stage;
    const record = recordWith({ agent_id: 'aaaaaaaa', owner: processes.self });
    store.create(record, 'x'.repeat(1024 * 1024), 'x');
    await expectRefused('disk_limit', members(1));
  });

  test('if it has more members than may start in a minute, and is not counted', async () => {
    await open({ config: { maxSpawnsPerMinute: 2 } });
    await expectRefused('spawn_rate', members(3));
    await expectStarted(members(2));
    await expect(
      stage.squads.start({ members: members(1) })
    ).rejects.toMatchObject({ code: 'spawn_rate' });
  });

  test('if an agent asks for it and not all members have a slot', async () => {
    const config = { maxConcurrent: 2, maxSpawnsPerMinute: 20 };
    await open({ config, inside: parent });
    await expectRefused('at_capacity', members(3));
    await expectStarted(members(2));
  });

  test('if it cannot be written, and is not counted', async () => {
    await open({ config: { maxSpawnsPerMinute: 2 } });
    justBefore('link', '.json', fail('ENOSPC'));
    await expectRefused('storage_full', members(2));
    await expectStarted(members(2));
  });
});

describe('a squad whose first member cannot start leaves nothing', () => {
  test('if its line in the journal fails, and frees its turn in its chat', async () => {
    await open({ squad: { stateMode: 'stateful' } });
    justBefore('open', '/iac.jsonl', fail('ENOSPC'));
    await expectRefused('storage_full', members(2, 'chat'));
    expect(holdersOf('still', 'chat', stage.store)).toEqual([]);
    const { begun } = await expectStarted(members(1, 'chat'));
    expect([...begun.values()].map(({ status }) => status)).toEqual([
      'running'
    ]);
  });

  test('if its folder cannot be written', async () => {
    await open();
    justBefore('open', '/record.json', fail('EIO'));
    await expectRefused('storage_unwritable', members(2));
    await expectStarted(members(2));
  });

  test('if its slot is taken meanwhile', async () => {
    await open({ config: { maxConcurrent: 1 }, inside: parent });
    const { store, processes, squads, starter } = stage;
    const record = recordWith({ agent_id: 'aaaaaaaa', owner: processes.self });
    const before = kept();
    justBefore('open', '/unstarted', () => {
      store.create(record, 'x', 'x');
      expect(starter.slots.takeNow(record)).toBe('taken');
    });
    const start = squads.start({ members: members(1) });
    await expect(start).rejects.toMatchObject({ code: 'at_capacity' });
    expect(starter.ownRunning()).toEqual(['aaaaaaaa']);
    starter.slots.withdraw(record);
    store.discard('aaaaaaaa');
    expect(kept()).toEqual(before);
    await expectStarted(members(1));
  });
});

describe('a later member that cannot start', () => {
  test('is reported, and the one after it waits only for the one before it', async () => {
    const mode = { executionMode: 'sequential', sequentialDelayMs: 0 } as const;
    await open({ squad: { ...mode, stateMode: 'stateful' } });
    const { events, squads, store, processes, starter } = stage;
    const off = events.onRunSpawned(() => {
      off();
      justBefore('write', '/iac.jsonl', fail('ENOSPC'));
    });
    const started = await squads.start({ members: members(3, 'chat') });
    const [first = '', second = '', third = ''] = started.squad.members.map(
      ({ agentId }) => agentId
    );
    expect([...started.begun.keys()]).toEqual([first, third]);
    expect([...started.refused.keys()]).toEqual([second]);
    expect(started.refused.get(second)).toContain('full');
    expect(squads.get(started.squad.squadId)).toEqual(started.squad);
    expect([store.has(second), store.isOpen(second)]).toEqual([false, false]);
    expect(holdersOf('still', 'chat', store)).toEqual([first, third]);
    const directory = store.directoryOf(first);
    const { place } = processes.self;
    await until(
      'the agent of the first',
      () => claimOf(directory, place)?.watchdogs.length
    );
    const request = { why: 'canceled' as const };
    await processes.stop({ directory, place, request });
    // For an agent without a record, it would wait 10 s.
    stopClock();
    await until('the start of the third', async () => {
      await stage.tracker.look(first);
      return starter.hasStarted(third);
    });
  });
});
