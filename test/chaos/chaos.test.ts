import { writeFileSync } from 'node:fs';
import { expect } from 'vitest';
import { locate } from '../../src/adapters/child-process/locate.ts';
import { hasProc } from '../../src/adapters/child-process/process-table.ts';
import { seededRandom } from '../kit/judges/random.ts';
import { needing } from '../kit/workspaces/needs.ts';
import { canMount } from '../kit/workspaces/small-disk.ts';
import { type ChaosRun, runChaos } from './run.ts';
import { clockThatIs } from './stage.ts';

/** `TROUPE_CHAOS_SECONDS=1200` at night. */
const seconds = Number(process.env.TROUPE_CHAOS_SECONDS) || 45;
const { seed } = seededRandom('chaos');
const hasClocks = clockThatIs(1) !== undefined;
let run: ChaosRun | undefined;

needing('/proc', hasProc())(
  `${seconds} s of everything that can go wrong leave every promise kept`,
  async () => {
    run = await runChaos(seconds, seed);
    const { faults, report, kept } = run;
    process.stderr.write(`chaos: ${JSON.stringify(report)}\n`);
    const file = process.env.TROUPE_CHAOS_REPORT;
    if (file) writeFileSync(file, JSON.stringify(run));
    expect(faults, `TROUPE_SEED=${seed}, kept in ${kept}`).toEqual([]);
  },
  seconds * 1000 + 300_000
);

/** What the machine lacks did not go wrong; and in a short run not all does. */
const parts: [what: string, need: string, isThere: boolean][] = [
  ['full disk', 'right to mount a disk', canMount()],
  ['server with a wrong clock', 'libfaketime', hasClocks],
  ['worker in a pane', 'tmux', locate('tmux') !== undefined]
];
for (const [what, need, isThere] of parts)
  needing(need, isThere)(`there was a ${what} in it, if it was long`, () => {
    const times = run?.done.get(what) ?? 0;
    expect(times).toBeGreaterThanOrEqual(seconds < 90 ? 0 : 1);
  });
