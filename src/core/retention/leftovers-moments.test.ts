import { mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { idOf } from '../../../test/kit/agents/made-up-agents.ts';
import {
  justBefore,
  watchFiles
} from '../../../test/kit/judges/file-operations.ts';
import { createTempWorkspace } from '../../../test/kit/workspaces/temp-workspace.ts';
import { RunStore } from '../runs/run-store.ts';
import { findLeftovers } from './leftovers.ts';

vi.mock('node:fs', async () => {
  const { watchedFs } = await import(
    '../../../test/kit/judges/file-operations.ts'
  );
  return watchedFs();
});

beforeEach(watchFiles);

test('a mark that another process removes meanwhile is no leftover', () => {
  const workspace = createTempWorkspace();
  onTestFinished(() => workspace.remove());
  const store = new RunStore(workspace.record);
  const directory = join(store.root, 'open');
  mkdirSync(directory, { recursive: true });
  const longAgo = new Date(Date.now() - 3_600_000);
  const [going, staying] = [idOf(1), idOf(2)];
  for (const id of [going, staying]) {
    writeFileSync(join(directory, id), '');
    utimesSync(join(directory, id), longAgo, longAgo);
  }
  justBefore('stat', `open/${going}`, () => rmSync(join(directory, going)));
  const { marks } = findLeftovers(store, [], (id) => store.has(id));
  expect(marks).toEqual([staying]);
});
