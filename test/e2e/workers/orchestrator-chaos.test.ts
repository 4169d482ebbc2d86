import { describe, expect } from 'vitest';
import { locate } from '../../../src/adapters/child-process/locate.ts';
import { hasProc } from '../../../src/adapters/child-process/process-table.ts';
import { playRound } from '../../kit/agents/worker-round.ts';
import { seededRandom } from '../../kit/judges/random.ts';
import { needing } from '../../kit/workspaces/needs.ts';

/** So many workers go through it; `TROUPE_CHAOS_ROUNDS=200` at night. */
const rounds = Number(process.env.TROUPE_CHAOS_ROUNDS) || 20;
const lanes = 3;
const testHere = needing('/proc', hasProc());
const { seed } = seededRandom('orchestrator-chaos');
let kills = 0;

describe(`${rounds} workers whose programs, servers and masters are killed`, () => {
  testHere(
    'end each acknowledged task once, in order, and leave nothing behind',
    async () => {
      const left = Array.from({ length: rounds }, (_, index) => index);
      const failed: unknown[] = [];
      const lane = async () => {
        for (
          let round = left.shift();
          round !== undefined;
          round = left.shift()
        )
          await play(round).catch((error: unknown) => failed.push(error));
      };
      await Promise.all(Array.from({ length: lanes }, lane));
      process.stderr.write(`orchestrator-chaos: ${kills} killed\n`);
      expect(failed).toEqual([]);
      expect(kills).toBeGreaterThan(rounds);
    },
    60_000 + rounds * 15_000
  );
});

async function play(round: number): Promise<void> {
  const played = await playRound({
    backend: round % 5 === 4 && locate('tmux') ? 'tmux' : 'process',
    restart: round % 4 === 3 ? 'never' : 'on-crash',
    runningTask: round % 4 === 1 ? 'fail' : 'requeue',
    random: seededRandom(`round ${round}`, seed + round)
  });
  kills += played.kills;
  if (played.faults.length > 0)
    throw new Error(JSON.stringify({ round, ...played }, null, 1));
}
