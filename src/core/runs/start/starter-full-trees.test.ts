import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { until } from '../../../../test/kit/judges/until.ts';
import { makeRepository } from '../../../../test/kit/workspaces/git-workspace.ts';
import { needing } from '../../../../test/kit/workspaces/needs.ts';
import {
  canMount,
  mountSmallDisk
} from '../../../../test/kit/workspaces/small-disk.ts';
import { createSpawnStage } from '../../../../test/kit/workspaces/spawn-stage.ts';

const testMounted = needing('right to mount a disk', canMount());

testMounted(
  'an agent for whose worktree git finds no room is queued, and works in one later',
  async () => {
    const stage = await createSpawnStage({ before: makeRepository });
    const trees = join(stage.workspace.path, '.agents', 'worktrees');
    mkdirSync(trees, { recursive: true });
    const disk = mountSmallDisk(trees, 256);
    onTestFinished(disk.unmount);
    disk.fill();
    const queuedAgain: string[] = [];
    stage.events.onRunChanged(({ agent_id }) => queuedAgain.push(agent_id));
    const { record } = await stage.spawner.spawn({
      ...{ engine: 'shell', prompt: 'pwd >where; echo done' },
      isolate: 'worktree'
    });
    const { agent_id: id } = record;
    await until('an attempt', () => queuedAgain.includes(id));
    expect((await stage.tracker.run(id))?.status).toBe('queued');
    disk.free();
    await until(
      'its end',
      async () => (await stage.tracker.run(id))?.outcome !== undefined
    );
    expect((await stage.tracker.run(id))?.status).toBe('completed');
    const where = join(record.worktree?.path ?? '', 'where');
    expect(readFileSync(where, 'utf8')).toContain(id);
  }
);
