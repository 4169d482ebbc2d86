import { utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  countOf,
  justBefore,
  watchFiles
} from '../../../../test/kit/judges/file-operations.ts';
import {
  outcomeWith,
  recordWith
} from '../../../../test/kit/servers/run-facts.ts';
import { deadHolder } from '../../../../test/kit/workspaces/lock-files.ts';
import { createTempWorkspace } from '../../../../test/kit/workspaces/temp-workspace.ts';
import { createProcesses } from '../../../adapters/child-process/processes.ts';
import type { RunRecord } from '../run.ts';
import { RunStore } from '../run-store.ts';
import { isStarting, setStarting } from '../start-marks.ts';
import { Admission } from './admission.ts';
import { CallerContext } from './caller-context.ts';
import { OwnSlots } from './slots.ts';
import { SpawnTimes } from './spawn-times.ts';

vi.mock('node:fs', async () => {
  const { watchedFs } = await import(
    '../../../../test/kit/judges/file-operations.ts'
  );
  return watchedFs();
});

const processes = createProcesses('dist');
const none = new Set<string>();
let store: RunStore;
let slots: OwnSlots;

beforeEach(() => {
  watchFiles();
  const workspace = createTempWorkspace();
  onTestFinished(workspace.remove);
  store = new RunStore(workspace.record);
  slots = newServer();
});

/** Another server of the workspace, which has one slot for CLI agents. */
function newServer(): OwnSlots {
  return new OwnSlots({
    store,
    processes,
    maxConcurrent: 1,
    maxConcurrentApi: 1,
    capOf: () => undefined
  });
}

function queued(agent_id: string, more: Partial<RunRecord> = {}): RunRecord {
  const record = recordWith({ agent_id, owner: processes.self, ...more });
  store.create(record, 'x', 'x');
  return record;
}

const announce = (id: string, on = true) =>
  setStarting(store.directoryOf(id), on);
const isAnnounced = (id: string) => isStarting(store.directoryOf(id));

test('a slot that another server takes just before it is announced is not taken twice', () => {
  const [first, second] = [queued('aaaaaaaa'), queued('bbbbbbbb')];
  const other = newServer();
  justBefore('rename', 'bbbbbbbb/starting', () => {
    expect(other.takeNow(first)).toBe('taken');
  });
  expect(slots.takeNow(second)).toBe('contended');
  expect([isAnnounced('aaaaaaaa'), isAnnounced('bbbbbbbb')]).toEqual([
    true,
    false
  ]);
  expect([slots.ids(), other.ids()]).toEqual([[], ['aaaaaaaa']]);
});

test('an agent is not announced, not even briefly, while no slot is free', () => {
  queued('aaaaaaaa');
  announce('aaaaaaaa');
  const second = queued('bbbbbbbb');
  let isBrieflyAnnounced = false;
  justBefore('rename', 'bbbbbbbb/starting', () => {
    isBrieflyAnnounced = true;
  });
  expect(slots.takeNow(second)).toBe('contended');
  expect(isBrieflyAnnounced).toBe(false);
});

describe('a slot is free', () => {
  const claim = (id: string, text: string) =>
    writeFileSync(join(store.directoryOf(id), 'claim'), text);

  test('when the server that announced its agent has died', async () => {
    const { pid, start, place } = await deadHolder();
    queued('aaaaaaaa', { owner: { pid, start, place } });
    announce('aaaaaaaa');
    expect(slots.takeNow(queued('bbbbbbbb'))).toBe('taken');
  });

  test('when the supervisor of its agent has died', async () => {
    const { pid, start } = await deadHolder();
    queued('aaaaaaaa');
    claim('aaaaaaaa', `${pid} ${start}\n`);
    expect(slots.takeNow(queued('bbbbbbbb'))).toBe('taken');
  });

  test.each([-3, 3])(
    'when its agent was announced %i seconds from now, and did not start',
    (seconds) => {
      queued('aaaaaaaa');
      announce('aaaaaaaa');
      const at = Date.now() / 1000 + seconds;
      const mark = join(store.directoryOf('aaaaaaaa'), 'starting');
      utimesSync(mark, at, at);
      expect(slots.takeNow(queued('bbbbbbbb'))).toBe('taken');
    }
  );

  test('when the end of its agent is recorded, or its agent has another kind', () => {
    for (const id of ['aaaaaaaa', 'cccccccc']) {
      queued(id, id === 'cccccccc' ? { kind: 'api' } : {});
      claim(id, `${processes.self.pid} ${processes.self.start}\n`);
    }
    const next = queued('bbbbbbbb');
    expect(slots.takeNow(next)).toBe('contended');
    store.end('aaaaaaaa', outcomeWith());
    expect(slots.takeNow(next)).toBe('taken');
  });

  test('but not while the supervisor of its agent lives', () => {
    queued('aaaaaaaa');
    claim('aaaaaaaa', `${processes.self.pid} ${processes.self.start}\n`);
    expect(slots.takeNow(queued('bbbbbbbb'))).toBe('contended');
    expect(slots.areFree(['claude'])).toBe(false);
  });
});

describe('a slot that is withdrawn', () => {
  test('leaves no announcement, and is free for all', () => {
    const record = queued('aaaaaaaa');
    expect(slots.takeNow(record)).toBe('taken');
    expect(slots.takeNow(queued('bbbbbbbb'))).toBe('full');
    expect(isAnnounced('bbbbbbbb')).toBe(false);
    slots.withdraw(record);
    expect([isAnnounced('aaaaaaaa'), slots.has('aaaaaaaa')]).toEqual([
      false,
      false
    ]);
    expect(newServer().takeNow(queued('cccccccc'))).toBe('taken');
  });

  test('keeps the announcement of an agent that never had it', () => {
    const record = queued('aaaaaaaa');
    announce('aaaaaaaa');
    slots.withdraw(record);
    expect(isAnnounced('aaaaaaaa')).toBe(true);
  });
});

test('a slot that was released is left to another server that waits, for 150 ms', () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const first = queued('aaaaaaaa');
  expect(slots.take(first, none)).toBe('taken');
  announce('aaaaaaaa', false);
  store.close('aaaaaaaa');
  slots.release(first);
  const ours = queued('bbbbbbbb');
  const own = new Set(['bbbbbbbb']);
  vi.advanceTimersByTime(150);
  queued('cccccccc');
  expect(slots.take(ours, own)).toBe('contended');
  expect(isAnnounced('bbbbbbbb')).toBe(false);
  // This server is about to queue it itself.
  slots.coming.add('cccccccc');
  expect(slots.take(ours, own)).toBe('taken');
  slots.withdraw(ours);
  slots.coming.delete('cccccccc');
  store.close('cccccccc');
  expect(slots.take(ours, own)).toBe('taken');
  slots.withdraw(ours);
  queued('dddddddd');
  vi.advanceTimersByTime(1);
  expect(slots.take(ours, own)).toBe('taken');
});

describe('an agent that another agent spawns', () => {
  const parent = 'eeeeeeee';
  let admission: Admission;

  beforeEach(() => {
    queued(parent);
    const origin = new CallerContext({
      store,
      processes: { ...processes, ancestors: () => [] },
      environment: { TROUPE_AGENT_ID: parent, TROUPE_DEPTH: '1' }
    });
    const { place } = processes.self;
    const times = new SpawnTimes({ root: store.root, place, most: 0 });
    const limits = { maxDepth: 3, diskLimitMegabytes: 0 };
    admission = new Admission({ origin, times, store, slots, ...limits });
  });

  /** The other server announces an agent during each attempt. */
  function contend(attempts: number): { seen: number } {
    const state = { seen: 0 };
    for (let attempt = 1; attempt <= attempts; attempt += 1) {
      justBefore('rename', 'bbbbbbbb/starting', () => {
        state.seen += 1;
        announce('aaaaaaaa');
      });
      justBefore('remove', 'bbbbbbbb/starting', () => {
        announce('aaaaaaaa', false);
      });
    }
    return state;
  }

  test('gets a slot in its fourth attempt', async () => {
    queued('aaaaaaaa');
    const record = queued('bbbbbbbb');
    const { seen } = contend(3);
    await admission.acquireSlot(record);
    expect(seen).toBe(0);
    expect([isAnnounced('bbbbbbbb'), slots.has('bbbbbbbb')]).toEqual([
      true,
      true
    ]);
    admission.releaseSlot(record);
    expect([isAnnounced('bbbbbbbb'), slots.has('bbbbbbbb')]).toEqual([
      false,
      false
    ]);
  });

  test('is refused after four attempts, and leaves no announcement', async () => {
    queued('aaaaaaaa');
    const record = queued('bbbbbbbb');
    const contention = contend(9);
    await expect(admission.acquireSlot(record)).rejects.toMatchObject({
      code: 'at_capacity'
    });
    expect(contention.seen).toBe(4);
    expect([isAnnounced('bbbbbbbb'), slots.has('bbbbbbbb')]).toEqual([
      false,
      false
    ]);
  });

  test('is refused at once, while this server uses all slots itself', async () => {
    await admission.checkRoom(['claude']);
    slots.takeNow(queued('aaaaaaaa'));
    const refusal = { code: 'at_capacity' };
    const record = queued('bbbbbbbb');
    const looks = countOf('list', '/open');
    let refused: unknown;
    admission.acquireSlot(record).catch((error: unknown) => {
      refused = error;
    });
    // Sooner than the pause before a second attempt.
    await turn();
    expect(refused).toMatchObject(refusal);
    expect([isAnnounced('bbbbbbbb'), looks.times]).toEqual([false, 0]);
    await expect(admission.checkRoom(['claude'])).rejects.toMatchObject(
      refusal
    );
    expect(looks.times).toBe(4);
  });

  test('is refused with the number of slots that are not free', async () => {
    slots.takeNow(queued('aaaaaaaa'));
    await expect(admission.checkRoom(['claude'])).rejects.toMatchObject({
      message: expect.stringContaining('no slot is free for it now'),
      hint: expect.stringMatching(/ make room for it\.$/)
    });
    await expect(
      admission.checkRoom(['claude', 'claude'])
    ).rejects.toMatchObject({
      message: expect.stringContaining('no 2 slots are free now'),
      hint: expect.stringMatching(/ make room for them\.$/)
    });
  });
});

test('the times of starts are read only when there could be too many', () => {
  const { place } = processes.self;
  const times = new SpawnTimes({ root: store.root, place, most: 10 });
  times.note(1, false);
  const reads = countOf('open', 'counts/spawn-times');
  expect([times.delayFor(9, false), reads.times]).toEqual([0, 0]);
  expect(times.delayFor(10, false)).toBeGreaterThan(0);
  expect(reads.times).toBe(1);
});
