import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../test/kit/workspaces/temp-workspace.ts';
import { createProcesses } from '../../adapters/child-process/processes.ts';
import { HostError } from '../errors.ts';
import { RunStore } from '../runs/run-store.ts';
import { Council } from './council.ts';
import { CouncilStore } from './council-store.ts';
import { SummonMarks } from './summon-marks.ts';
import { Summons } from './summons.ts';

const processes = createProcesses('');

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(() => workspace.remove());

test('a refused summons that cannot be undone at once is undone later', async () => {
  const path = join(workspace.path, 'state.json');
  const runs = new RunStore(workspace.record);
  const store = new CouncilStore(path, processes);
  const problems: unknown[] = [];
  const summons = new Summons({
    council: store,
    storeAt: () => store,
    witnesses: processes,
    workspace: workspace.path,
    runs,
    tracker: { run: async () => undefined },
    spawn: async () => {
      // From now on, a holder of unknown liveness has the lock.
      writeFileSync(`${path}.lock`, 'another program');
      throw new HostError('depth_limit', 'Too deep.', 'Do it here.');
    },
    onProblem: (problem) => problems.push(problem)
  });
  const council = new Council({ store, witnesses: processes });
  await council.start('alice', 'Which language?');
  await expect(summons.summon({ engine: 'claude' })).rejects.toMatchObject({
    code: 'depth_limit'
  });
  expect(problems).toMatchObject([{ code: 'state_locked' }]);
  expect(store.read().summons).toMatchObject([{ status: 'running' }]);
  rmSync(`${path}.lock`);
  await summons.collectAnswers();
  expect(store.read().summons).toEqual([]);
  expect(store.read().participants).toHaveLength(1);
  expect(new SummonMarks(runs.root).all()).toEqual([]);
  store.close();
}, 30_000);
