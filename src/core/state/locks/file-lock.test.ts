import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { seededRandom } from '../../../../test/kit/judges/random.ts';
import {
  contestWithDeaths,
  createLockContest,
  entriesIn,
  type LockContest,
  leftIn,
  violationsIn
} from '../../../../test/kit/workspaces/lock-contest.ts';

const random = seededRandom('file-lock');

let contest: LockContest;

beforeAll(async () => {
  contest = await createLockContest();
});

afterAll(() => contest.remove());

/**
 * Runs the same contest with FileLock and with a lock that has a well-known
 * race, to show that the contest detects it.
 */
describe('when many processes want one lock and some are killed,', () => {
  test('several hold it at once if the dead holder is checked first and removed later', async () => {
    let violations = 0;
    for (let round = 0; violations === 0 && round < 10; round += 1) {
      const arena = contest.arena(`wrong-${round}`);
      await contestWithDeaths(contest, arena, 'wrong', random);
      violations = violationsIn(arena);
    }
    expect(violations).toBeGreaterThan(0);
  }, 120_000);

  test('one at a time holds a FileLock, all get their turns, and nothing is left', async () => {
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
