import { join } from 'node:path';
import { onTestFinished, test, vi } from 'vitest';
import {
  expectDurable,
  watchFiles
} from '../../../test/kit/judges/file-operations.ts';
import { createTempWorkspace } from '../../../test/kit/workspaces/temp-workspace.ts';
import { keepChanges } from './change-file.ts';

vi.mock('node:fs', async () => {
  const { watchedFs } = await import(
    '../../../test/kit/judges/file-operations.ts'
  );
  return watchedFs();
});

test('the list of changed files is on the disk', () => {
  const { path, remove } = createTempWorkspace();
  onTestFinished(remove);
  watchFiles();
  keepChanges(path, { v: 1, files: [], total: 0, patch: null });
  expectDurable(join(path, 'changes.json'));
});
