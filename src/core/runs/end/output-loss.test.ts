import { mkdirSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { createEndStage } from '../../../../test/kit/servers/end-stage.ts';
import { needing } from '../../../../test/kit/workspaces/needs.ts';
import {
  canMount,
  mountSmallDisk
} from '../../../../test/kit/workspaces/small-disk.ts';
import { emptyExitFile, endNotesOf } from '../run-files.ts';
import { RunStore } from '../run-store.ts';
import { noteFullDisk } from './output-loss.ts';

const testMounted = needing('right to mount a disk', canMount());

testMounted(
  'an agent that has printed nothing yet is noted on a full disk, and not on one with some room',
  () => {
    const stage = createEndStage();
    onTestFinished(() => stage.log.workspace.remove());
    mkdirSync(stage.state, { recursive: true });
    const disk = mountSmallDisk(stage.state, 2048);
    onTestFinished(disk.unmount);
    const store = new RunStore(stage.state);
    const record = stage.ended(store);
    const directory = store.directoryOf(record.agent_id);
    truncateSync(join(directory, 'stdout'));
    writeFileSync(join(directory, 'exit'), emptyExitFile);
    disk.fill();
    const ballast = join(stage.state, '.ballast', 'bytes');
    truncateSync(ballast, statSync(ballast).size - 200 * 1024);
    noteFullDisk(store, [record]);
    expect(endNotesOf(directory).filled).toBe(false);
    disk.fill();
    noteFullDisk(store, [record]);
    expect(endNotesOf(directory).filled).toBe(true);
  }
);
