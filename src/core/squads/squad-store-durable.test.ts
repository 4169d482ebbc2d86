import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import {
  expectDurable,
  watchFiles
} from '../../../test/kit/judges/file-operations.ts';
import { createTempWorkspace } from '../../../test/kit/workspaces/temp-workspace.ts';
import { SquadStore } from './squad-store.ts';

vi.mock('node:fs', async () => {
  const { watchedFs } = await import(
    '../../../test/kit/judges/file-operations.ts'
  );
  return watchedFs();
});

test('a squad is on the disk before any agent starts', () => {
  const { record, remove } = createTempWorkspace();
  onTestFinished(remove);
  const store = new SquadStore(record);
  const squadId = store.newId();
  watchFiles();
  store.create({
    v: 1,
    squadId,
    created_at: '2026-01-01T00:00:00.000Z',
    stateMode: 'stateless',
    members: []
  });
  expectDurable(join(record, 'squads', `${squadId}.json`));
  expect(store.find(squadId)).toMatchObject({ squadId });
});
