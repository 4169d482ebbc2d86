import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  contestWithDeaths,
  createLockContest,
  entriesIn,
  type LockContest,
  leftIn,
  violationsIn
} from '../../testing/lock-contest.ts';
import { seededRandom } from '../../testing/random.ts';

const random = seededRandom('file-lock');

let contest: LockContest;

beforeAll(async () => {
  contest = await createLockContest();
});

afterAll(() => contest.remove());

/**
 * The same contest twice: with a lock that is wrong in the usual way, to show
 * that it would be seen, and with ours.
 */
describe('of processes that want one lock, many of them killed meanwhile,', () => {
  test('several come in at once where the dead holder is looked up first and removed then', async () => {
    let violations = 0;
    for (let round = 0; violations === 0 && round < 10; round += 1) {
      const arena = contest.arena(`wrong-${round}`);
      await contestWithDeaths(contest, arena, 'wrong', random);
      violations = violationsIn(arena);
    }
    expect(violations).toBeGreaterThan(0);
  }, 120_000);

  test('one at a time comes in with FileLock, all get their turns, and nothing is left', async () => {
    const arena = contest.arena('ours');
    const { places, killed } = await contestWithDeaths(
      contest,
      arena,
      'lock',
      random
    );
    expect(violationsIn(arena)).toBe(0);
    expect(places).toEqual([0, 0, 0, 0, 0, 0]);
    expect(killed).toBe(24);
    const entries = entriesIn(arena);
    for (const index of places.keys())
      expect(entries.get(`${index}-4`)).toBe(15);
    expect(leftIn(arena)).toEqual([]);
  }, 120_000);
});
