import { execFileSync } from 'node:child_process';
import { readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
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
  deadHolder,
  endedPid,
  lockIn,
  putBeside
} from '../../../../test/kit/workspaces/lock-files.ts';
import type { FileLock } from './file-lock.ts';
import { findHolder } from './lock-holder.ts';

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

const cardOf = (pid: number) =>
  JSON.stringify({ pid, createdAt: '2025-01-01T00:00:00.000Z' });

/** A lock that a foreign program wrote some seconds ago. */
function leave(text: string, seconds: number): void {
  writeFileSync(join(arena, 'lock'), text);
  const then = Date.now() / 1000 - seconds;
  utimesSync(join(arena, 'lock'), then, then);
}

describe('a lock of a foreign program is taken over', () => {
  test.each([
    ['when its process has ended', async () => cardOf(await endedPid())],
    ['when it is empty', async () => ''],
    ['when it is not JSON', async () => 'locked by\0me'],
    ['when it names no process', async () => '{}'],
    ['when its process id is invalid', async () => '{"pid":-1}']
  ])('%s, and is older than 30 seconds', async (_title, text) => {
    leave(await text(), 31);
    expect(await lock.hold(() => lock.isHeld())).toBe(true);
    expect(lock.takeovers).toBe(1);
    lock.close();
    expect(leftIn(arena)).toEqual([]);
  });

  test('when it is a FIFO, without waiting for it', async () => {
    execFileSync('mkfifo', [join(arena, 'lock')]);
    utimesSync(join(arena, 'lock'), 1, 1);
    expect(await lock.hold(() => lock.isHeld())).toBe(true);
  });

  test.each([0, 1, 2])(
    'by the next process, after %i that died while taking it over',
    async (takers) => {
      leave(cardOf(await endedPid()), 31);
      let name = `reap.${findHolder(join(arena, 'lock'))?.name}`;
      for (let taker = 0; taker < takers; taker += 1) {
        const owner = await deadHolder();
        putBeside(arena, name, owner);
        putBeside(arena, `${owner.pid}.${owner.nonce}`, owner);
        name = `${name}.${owner.nonce}`;
      }
      expect(await lock.hold(() => lock.isHeld())).toBe(true);
      lock.close();
      expect(leftIn(arena)).toEqual([]);
    }
  );
});

/**
 * Holds the lock like the published council, with an old timestamp, so that
 * only its live process protects it.
 */
const published = `
(async () => {
  const { kill } = process;
  for (let round = 0; round < rounds; ) {
    let file;
    try {
      file = fs.openSync(path, 'wx');
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 2));
      continue;
    }
    round += 1;
    record('in');
    if (round % 2) fs.writeSync(file, JSON.stringify({ pid: process.pid }));
    if (round % 2) fs.futimesSync(file, 1, 1);
    pause(1 + Math.floor(Math.random() * 3));
    if (Math.random() * 1000 < deaths) {
      fs.futimesSync(file, 1, 1);
      kill(process.pid, 'SIGKILL');
    }
    record('out');
    fs.closeSync(file);
    fs.unlinkSync(path);
  }
})();`;

/** A FileLock that is killed between the check and the removal of a lock. */
const ours = `
const { kill } = process;
process.kill = (pid, signal) => {
  try {
    return kill.call(process, pid, signal);
  } catch (error) {
    pause(3 + Math.floor(Math.random() * 4));
    maybeDie();
    throw error;
  }
};
${contending('lock')}`;

test('one process at a time holds the lock, where many find foreign locks and are killed', async () => {
  const place = async (index: number) => {
    const isOurs = index % 2 === 0;
    for (let life = 0; ; life += 1) {
      const isLast = life === 4;
      const { ended } = contest.start(arena, {
        program: isOurs ? ours : published,
        me: `${index}-${life}`,
        rounds: isLast ? 15 : 10_000,
        deaths: isLast ? 0 : 150
      });
      const end = await ended;
      if (isLast) return end;
      expect(end).toBe('SIGKILL');
    }
  };
  // The published council takes no lock over, so one FileLock runs to the end.
  let isOver = false;
  const caretaker = (async () => {
    while (!isOver) {
      await lock.hold(() => undefined);
      await delay(20);
    }
  })();
  const ends = await Promise.all([0, 1, 2, 3, 4, 5, 6].map(place));
  isOver = true;
  await caretaker;
  expect(ends).toEqual([0, 0, 0, 0, 0, 0, 0]);
  expect(violationsIn(arena)).toBe(0);
  for (const index of ends.keys())
    expect(entriesIn(arena).get(`${index}-4`)).toBe(15);
  await lock.hold(() => undefined);
  lock.close();
  expect(leftIn(arena)).toEqual([]);
}, 120_000);

// Each test waits ten seconds, so they run concurrently.
describe.concurrent('a lock of a foreign program stays, and the error explains it,', () => {
  for (const [title, text, seconds, hint] of [
    ['while its process runs', cardOf(1), 3600, 'End process 1'],
    ['while it is recent, even if it is empty', '', 0, '30 seconds'],
    ['when its time is in the future', '', -3600, 'remove lock']
  ] as const)
    test(title, async ({ expect }) => {
      const there = contest.arena(title);
      const path = join(there, 'lock');
      writeFileSync(path, text);
      const then = Date.now() / 1000 - seconds;
      utimesSync(path, then, then);
      const error = await lockIn(there)
        .hold(() => undefined)
        .catch((problem) => problem);
      expect(error).toMatchObject({
        code: 'state_locked',
        message: expect.stringContaining(path),
        hint: expect.stringContaining(hint)
      });
      expect(readFileSync(path, 'utf8')).toBe(text);
    }, 60_000);
});
