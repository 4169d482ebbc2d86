import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  test
} from 'vitest';
import {
  contending,
  createLockContest,
  entriesIn,
  type LockContest,
  leftIn,
  violationsIn
} from '../../../../test/kit/workspaces/lock-contest.ts';
import {
  asHolder,
  deadHolder,
  type Holder,
  lockIn,
  putBeside,
  putLock,
  zombieHolder
} from '../../../../test/kit/workspaces/lock-files.ts';
import { thisProcess } from '../../../adapters/child-process/process-table.ts';
import type { FileLock } from './file-lock.ts';

let contest: LockContest;
let arena: string;
let lock: FileLock;
let arenas = 0;

beforeAll(async () => {
  contest = await createLockContest();
});

beforeEach(() => {
  arenas += 1;
  arena = contest.arena(String(arenas));
  lock = lockIn(arena);
});

afterEach(() => lock.close());

afterAll(() => contest.remove());

describe('the lock of a dead process is taken over', () => {
  test('when it was killed', async () => {
    await expectTaken(await deadHolder());
  });

  test('when another process has its id now', async () => {
    await expectTaken(asHolder({ ...thisProcess(), start: 'long ago' }));
  });

  test('when the machine was restarted', async () => {
    const [host, , space] = thisProcess().place.split(' ');
    const place = `${host} an-earlier-boot ${space}`;
    await expectTaken(asHolder({ ...thisProcess(), place }));
  });

  test('when it is a zombie', async () => {
    const { holder, reap } = await zombieHolder();
    try {
      await expectTaken(holder);
    } finally {
      reap();
    }
  });
});

describe("when processes die that were about to remove a dead holder's lock,", () => {
  test.each([0, 1, 2, 3])(
    'the right to remove it passes on, after %i of them',
    async (takers) => {
      await leaveTakeover(takers);
      expect(await lock.hold(() => lock.isHeld())).toBe(true);
      lock.close();
      expect(leftIn(arena)).toEqual([]);
    }
  );

  test('nothing is left of a process that held the lock earlier', async () => {
    await lock.hold(() => undefined);
    await leaveTakeover(2);
    expect(await lock.hold(() => lock.isHeld())).toBe(true);
    lock.close();
    expect(leftIn(arena)).toEqual([]);
  });

  test('a claim that remains after its lock is removed blocks no process', async () => {
    const dead = await deadHolder();
    putBeside(arena, `reap.${dead.nonce}`, await deadHolder());
    await lock.hold(() => undefined);
    lock.close();
    expect(leftIn(arena)).toEqual([]);
  });

  test('one process at a time continues, where many find this state at once', async () => {
    await leaveTakeover(2);
    const names = ['a', 'b', 'c', 'd', 'e'];
    const ends = names.map((me) => contest.start(arena, { me, rounds: 5 }));
    for (const { ended } of ends) expect(await ended).toBe(0);
    expect(violationsIn(arena)).toBe(0);
    expect([...entriesIn(arena).values()]).toEqual([5, 5, 5, 5, 5]);
    expect(leftIn(arena)).toEqual([]);
  });
});

describe('when files of a lock are deleted by hand,', () => {
  test.each(['the identity file', 'the directory'])(
    'a living process continues without %s',
    async (what) => {
      const servers = join(arena, 'lock.servers');
      await lock.hold(() => undefined);
      const files = readdirSync(servers).filter((name) => name[0] !== '.');
      expect(files).toHaveLength(1);
      if (what === 'the directory') rmSync(servers, { recursive: true });
      else for (const file of files) rmSync(join(servers, file));
      expect(await lock.hold(() => lock.isHeld())).toBe(true);
      lock.close();
      expect(leftIn(arena)).toEqual([]);
    }
  );

  test('the holder of the lock notices that it is gone', async () => {
    const seen = await lock.hold(() => {
      const before = lock.isHeld();
      rmSync(join(arena, 'lock'));
      return [before, lock.isHeld()];
    });
    expect(seen).toEqual([true, false]);
  });
});

test('processes whose clocks are hours apart share a lock as usual', async () => {
  const shifted = (hours: number) => `
const { now } = Date;
Date.now = () => now() + ${hours} * 3_600_000;
${contending('lock')}`;
  const contenders = [-1, -1, 0, 0, 1, 1].map((hours, index) =>
    contest.start(arena, {
      program: shifted(hours),
      me: `${index} h${hours}`.replace(' ', ''),
      rounds: 20,
      deaths: index % 2 === 0 ? 200 : 0
    })
  );
  const ends = await Promise.all(contenders.map(({ ended }) => ended));
  expect(ends.filter((_, index) => index % 2 === 1)).toEqual([0, 0, 0]);
  expect(ends).toContain('SIGKILL');
  expect(violationsIn(arena)).toBe(0);
  const last = lockIn(arena);
  await last.hold(() => undefined);
  last.close();
  expect(leftIn(arena)).toEqual([]);
});

async function expectTaken(holder: Holder) {
  putLock(arena, holder);
  expect(await lock.hold(() => lock.isHeld())).toBe(true);
  lock.close();
  expect(leftIn(arena)).toEqual([]);
}

/** A dead holder's lock, and dead processes that were about to remove it. */
async function leaveTakeover(takers: number) {
  const holder = await deadHolder();
  putLock(arena, holder);
  let name = `reap.${holder.nonce}`;
  for (let taker = 0; taker < takers; taker += 1) {
    const owner = await deadHolder();
    putBeside(arena, name, owner);
    putBeside(arena, `${owner.pid}.${owner.nonce}`, owner);
    name = `${name}.${owner.nonce}`;
  }
}
