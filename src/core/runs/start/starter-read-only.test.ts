import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import {
  justBefore,
  watchFiles
} from '../../../../test/kit/judges/file-operations.ts';
import { until } from '../../../../test/kit/judges/until.ts';
import { recordWith } from '../../../../test/kit/servers/run-facts.ts';
import { makeRepository } from '../../../../test/kit/workspaces/git-workspace.ts';
import { deadHolder } from '../../../../test/kit/workspaces/lock-files.ts';
import { createSpawnStage } from '../../../../test/kit/workspaces/spawn-stage.ts';
import { setStarting } from '../start-marks.ts';

vi.mock('node:fs', async () => {
  const judge = '../../../../test/kit/judges/file-operations.ts';
  return (await import(judge)).watchedFs();
});

test('an agent whose worktree a read-only workspace refuses fails, and the next one runs', async () => {
  watchFiles();
  const config = { maxConcurrent: 1 };
  const stage = await createSpawnStage({ config, before: makeRepository });
  const path = join(stage.workspace.path, '.agents', 'worktrees');
  const refuse = () =>
    justBefore('make', '/worktrees', () => {
      refuse();
      throw Object.assign(new Error('EROFS: refused'), { code: 'EROFS', path });
    });
  refuse();
  const request = { engine: 'shell', prompt: 'touch ran; echo done' };
  const isolate = 'worktree';
  const { record } = await stage.spawner.spawn({ ...request, isolate });
  await stage.spawner.spawn(request);
  await until('the next one', () => stage.hasRun('ran'));
  const run = await stage.tracker.run(record.agent_id);
  expect(run?.outcome).toMatchObject({
    error_code: 'spawn_failed',
    error: expect.stringContaining('EROFS')
  });
});

test('an agent that a server takes over starts though its announcement cannot be withdrawn', async () => {
  watchFiles();
  const { store, tracker, workspace } = await createSpawnStage();
  const [owner, cwd] = [await deadHolder(), workspace.path];
  const agent_id = 'bbbbbbbb';
  const record = recordWith({ agent_id, engine: 'shell', cwd, owner });
  store.create(record, 'echo done', 'echo done');
  const directory = store.directoryOf(agent_id);
  setStarting(directory, true);
  for (const kind of ['remove', 'rename'] as const)
    justBefore(kind, '/starting', () => {
      const path = join(directory, 'starting');
      throw Object.assign(new Error('EROFS: refused'), { code: 'EROFS', path });
    });
  await until('its end', async () => {
    const run = await tracker.run(agent_id);
    return run?.status === 'completed';
  });
});
