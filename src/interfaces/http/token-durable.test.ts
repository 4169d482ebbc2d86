import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import {
  expectDurable,
  watchFiles
} from '../../../test/kit/judges/file-operations.ts';
import { createTempWorkspace } from '../../../test/kit/workspaces/temp-workspace.ts';
import { tokenFor } from './token.ts';

vi.mock('node:fs', async () => {
  const { watchedFs } = await import(
    '../../../test/kit/judges/file-operations.ts'
  );
  return watchedFs();
});

test('a new token is on the disk, so that clients can keep it', () => {
  const { record, remove } = createTempWorkspace();
  onTestFinished(remove);
  const file = join(record, 'http', 'token');
  watchFiles();
  const { value } = tokenFor(file, undefined);
  expectDurable(file);
  expect(tokenFor(file, undefined).value).toBe(value);
});
