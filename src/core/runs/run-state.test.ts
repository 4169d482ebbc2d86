import { utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { recordWith } from '../../../test/kit/servers/run-facts.ts';
import { deadHolder } from '../../../test/kit/workspaces/lock-files.ts';
import { createTempWorkspace } from '../../../test/kit/workspaces/temp-workspace.ts';
import { createProcesses } from '../../adapters/child-process/processes.ts';
import type { RunRecord } from './run.ts';
import { claimOf, noteLaunched } from './run-files.ts';
import {
  isFresh,
  isOver,
  isUnseen,
  liveStateOf,
  statusOf
} from './run-state.ts';
import { RunStore } from './run-store.ts';
import { giveUp } from './sign-of-life.ts';
import { becomeHeir, heirOf, mostHeirs, setStarting } from './start-marks.ts';

const processes = createProcesses('dist');
const { pid, start, place } = processes.self;
const [host = '', boot = '', space = ''] = place.split(' ');
const earlierBoot = `${host} earlier-boot ${space}`;
const otherMachine = `other-host ${boot} ${space}`;

let store: RunStore;
let directory: string;
let record: RunRecord;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const workspace = createTempWorkspace();
  onTestFinished(workspace.remove);
  store = new RunStore(workspace.record);
  record = spawned(processes.self);
  directory = store.directoryOf(record.agent_id);
});

function spawned(owner: RunRecord['owner'], agent_id = 'aaaaaaaa') {
  const made = recordWith({ agent_id, owner });
  store.create(made, 'x', 'x');
  return made;
}

const file = (name: string) => join(directory, name);
const claimed = (text: string) => writeFileSync(file('claim'), text);
const state = () => liveStateOf(record, directory, processes);
const ownedIn = (other: string) => ({
  ...record,
  owner: { ...record.owner, place: other }
});

/** Sets the time of a file to so many seconds from now. */
function shift(name: string, seconds: number): void {
  const at = Date.now() / 1000 + seconds;
  utimesSync(file(name), at, at);
}

describe('a run without a claim', () => {
  test('is queued while its server lives, also with a slot, and runs once it is launched', () => {
    record.on_disconnect = 'stop';
    const status = () => [state(), statusOf(state(), record)];
    expect(status()).toEqual(['queued', 'queued']);
    setStarting(directory, true);
    expect(status()).toEqual(['preparing', 'queued']);
    noteLaunched(directory, 'claude');
    expect(status()).toEqual(['running', 'running']);
  });

  test.each([
    ['has ended', 'orphaned', async () => deadHolder()],
    [
      'had a pid that was used again',
      'orphaned',
      async () => ({ pid, start: '1', place })
    ],
    [
      'ended with an earlier boot',
      'lost',
      async () => ({ pid, start, place: earlierBoot })
    ]
  ])(
    'is lost if its server %s, and %s if it was preparing its start',
    async (_, then, owner) => {
      record = spawned(await owner(), 'bbbbbbbb');
      directory = store.directoryOf('bbbbbbbb');
      expect(state()).toBe('lost');
      setStarting(directory, true);
      expect(state()).toBe(then);
    }
  );

  describe('whose server was killed while it prepared it', () => {
    beforeEach(async () => {
      record = spawned(await deadHolder(), 'bbbbbbbb');
      directory = store.directoryOf('bbbbbbbb');
      setStarting(directory, true);
    });

    test('is queued, and lost when no server has taken it over within a minute', () => {
      expect(state()).toBe('orphaned');
      expect(statusOf(state(), record)).toBe('queued');
      shift('starting', -61);
      expect(state()).toBe('lost');
    });

    test.each([
      { on_disconnect: 'stop' as const },
      { template: 'mine' },
      { program: '/bin/mine' },
      { in_chat: true as const }
    ])('is lost if it has %o', (more) => {
      Object.assign(record, more);
      expect(state()).toBe('lost');
    });

    test('is taken over once', async () => {
      expect(becomeHeir(directory, processes.self, undefined)).toBe(true);
      expect(becomeHeir(directory, await deadHolder(), undefined)).toBe(false);
      expect(state()).toBe('preparing');
      setStarting(directory, false);
      expect(state()).toBe('queued');
    });

    test('has another heir if the first was killed, but not for ever', async () => {
      const dead = await deadHolder();
      for (let number = 1; number <= mostHeirs; number += 1) {
        expect(state()).toBe('orphaned');
        const last = heirOf(directory, place);
        expect(becomeHeir(directory, dead, last)).toBe(true);
      }
      expect(state()).toBe('lost');
      const last = heirOf(directory, place);
      expect(becomeHeir(directory, processes.self, last)).toBe(false);
    });

    test('has another heir if the file of the first is damaged', () => {
      writeFileSync(join(directory, 'heir.1'), '');
      expect(state()).toBe('orphaned');
      const first = heirOf(directory, processes.self.place);
      expect(becomeHeir(directory, processes.self, first)).toBe(true);
      expect(state()).toBe('preparing');
    });

    test('is not lost while its last heir is recent', async () => {
      becomeHeir(directory, await deadHolder(), undefined);
      setStarting(directory, false);
      expect(state()).toBe('orphaned');
      shift('heir.1', -61);
      expect(state()).toBe('lost');
    });
  });

  test('of a server on another machine is queued while it gives signs of life', () => {
    expect(liveStateOf(ownedIn(otherMachine), directory, processes)).toBe(
      'queued'
    );
  });
});

describe('a run with a claim', () => {
  test('runs while its supervisor lives', () => {
    claimed(`${pid} ${start}\n`);
    expect(state()).toBe('running');
  });

  test('is lost if another process has the pid of its supervisor', () => {
    claimed(`${pid} 1\n`);
    expect(state()).toBe('lost');
  });

  test('is lost if its supervisor ended with an earlier boot', () => {
    claimed(`${pid} ${start}\n`);
    expect(liveStateOf(ownedIn(earlierBoot), directory, processes)).toBe(
      'lost'
    );
  });

  test('has no known end if its supervisor is on another machine', () => {
    claimed(`${pid} 1\n`);
    const there = ownedIn(otherMachine);
    expect(liveStateOf(there, directory, processes)).toBe('running');
    expect(isUnseen(there, directory, processes)).toBe(true);
    expect(isUnseen(record, directory, processes)).toBe(false);
  });

  test('is over without signs of life only where its processes cannot be seen', () => {
    claimed(`${pid} ${start}\n`);
    giveUp(directory);
    expect(state()).toBe('running');
    const there = ownedIn(otherMachine);
    expect(liveStateOf(there, directory, processes)).toBe('lost');
  });

  test('is lost if it never starts, even if its server lives', () => {
    claimed('never\n');
    expect(state()).toBe('lost');
    expect(isUnseen(ownedIn(otherMachine), directory, processes)).toBe(false);
  });

  test('has ended once its exit code is written, even if its supervisor lives', () => {
    claimed(`${pid} ${start}\n`);
    writeFileSync(file('exit'), '0\n');
    expect(state()).toBe('ended');
    claimed(`${pid} 1\n`);
    expect(state()).toBe('ended');
  });

  test.each([
    [-4, 'running'],
    [4, 'running'],
    [-6, 'lost'],
    [6, 'lost']
  ])(
    'without an identity, from %i seconds from now, is %s',
    (seconds, expected) => {
      claimed('');
      shift('claim', seconds);
      expect(state()).toBe(expected);
    }
  );
});

describe('the supervisor in a claim', () => {
  const supervisor = (text: string) => {
    claimed(text);
    return claimOf(directory, place)?.supervisor;
  };

  test('has its pid, its start and the place of the run', () => {
    expect(supervisor('12 Mon_1\n34 56\n')).toEqual({
      pid: 12,
      start: 'Mon_1',
      place
    });
    expect(claimOf(directory, place)?.watchdogs).toEqual([34, 56]);
  });

  test.each(['', '12', '12 34', 'never\n', '1x 34\n', '-1 34\n', ' 34\n'])(
    'is unknown while the claim is %j',
    (text) => {
      expect(supervisor(text)).toBeUndefined();
    }
  );
});

describe('right before its processes are stopped', () => {
  const check = () => isOver(record, directory, processes);

  test('a run without a claim is kept from starting', async () => {
    expect(await check()).toBe(true);
    expect(claimOf(directory, place)?.never).toBe(true);
  });

  test('a run whose supervisor lives is not over', async () => {
    claimed(`${pid} ${start}\n`);
    expect(await check()).toBe(false);
  });

  test('a run whose supervisor’s pid was used again is over', async () => {
    claimed(`${pid} 1\n`);
    expect(await check()).toBe(true);
  });

  test('an old claim has time to name its supervisor', async () => {
    claimed('');
    shift('claim', -60);
    const checked = check();
    claimed(`${pid} ${start}\n`);
    expect(await checked).toBe(false);
  });

  test('an old claim that names no supervisor is over', async () => {
    claimed('');
    shift('claim', -60);
    expect(await check()).toBe(true);
  });
});

describe('the pids of a run are its own', () => {
  test('for 10 s after its start, by a clock that may be ahead or behind', () => {
    expect(isFresh(directory)).toBe(false);
    claimed(`${pid} ${start}\n`);
    for (const [seconds, expected] of [
      [-9, true],
      [9, true],
      [-11, false],
      [11, false]
    ] as const) {
      shift('claim', seconds);
      expect(isFresh(directory)).toBe(expected);
    }
  });

  test('for 10 s after its end', () => {
    claimed(`${pid} ${start}\n`);
    shift('claim', -100);
    writeFileSync(file('exit'), '0\n');
    expect(isFresh(directory)).toBe(true);
    shift('exit', -11);
    expect(isFresh(directory)).toBe(false);
  });
});
