import { writeFileSync } from 'node:fs';
import { expect } from 'vitest';
import { locate } from '../../../src/adapters/child-process/locate.ts';
import { hasProc } from '../../../src/adapters/child-process/process-table.ts';
import { seededRandom } from '../../kit/judges/random.ts';
import { needing } from '../../kit/workspaces/needs.ts';
import { canMakeNamespace } from '../../kit/workspaces/pid-namespace.ts';
import { canMount } from '../../kit/workspaces/small-disk.ts';
import type { ChaosRun } from '../run.ts';
import { runEveryday } from './run.ts';

/** 300 in CI, 1000 at night. */
const agents = Number(process.env.TROUPE_EVERYDAY_AGENTS) || 40;
/** Until the end of a container must be known takes two minutes. */
const isLong = agents >= 300;
/** Some of the acts alone, with commas between, to find out about one. */
const only = process.env.TROUPE_EVERYDAY_ACTS?.split(',');
const { seed } = seededRandom('everyday');
let run: ChaosRun | undefined;

needing('/proc', hasProc())(
  `what people do every day beside ${agents} agents leaves every promise kept`,
  async () => {
    run = await runEveryday(agents, seed, isLong, only);
    const { faults, report, kept } = run;
    process.stderr.write(`everyday: ${JSON.stringify(report)}\n`);
    const file = process.env.TROUPE_EVERYDAY_REPORT;
    if (file) writeFileSync(file, JSON.stringify(run));
    expect(faults, `TROUPE_SEED=${seed}, kept in ${kept}`).toEqual([]);
  },
  900_000
);

const parts: [what: string, need: string, isThere: boolean][] = [
  ['full disk', 'right to mount a disk', canMount()],
  [
    'container restart',
    'right to make a process namespace',
    canMakeNamespace()
  ],
  ['tmux of an agent', 'tmux', locate('tmux') !== undefined]
];
for (const [what, need, isThere] of parts)
  needing(need, isThere)(`there was a ${what} in it`, () => {
    expect(run?.done.get(what)).toBeGreaterThanOrEqual(1);
  });
