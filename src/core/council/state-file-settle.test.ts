import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { createTempWorkspace } from '../../testing/temp-workspace.ts';
import { settleIn } from '../state/atomic-file.ts';
import { emptyState } from './state.ts';
import { StateFile } from './state-file.ts';

const workspace = createTempWorkspace();
afterEach(() => workspace.remove());

test('what somebody else wrote is settled by who relies on it, once', () => {
  const path = join(workspace.path, 'state.json');
  const synced: string[] = [];
  const [other, ours] = [1, 2].map(
    () =>
      new StateFile(path, (directory) => {
        settleIn(directory);
        synced.push(directory);
      })
  );
  // Its writer is killed before he gets to it.
  other?.write({ ...emptyState, feedback: [] });
  expect(ours?.read().feedback).toEqual([]);
  expect(synced).toEqual([]);
  ours?.settle();
  ours?.settle();
  expect(synced).toEqual([workspace.path]);
  other?.close();
  ours?.close();
});
