import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import {
  expectDurable,
  expectGoneDurably,
  watchFiles
} from '../../test/kit/judges/file-operations.ts';
import { createTempWorkspace } from '../../test/kit/workspaces/temp-workspace.ts';
import { Grants } from './grants.ts';

vi.mock('node:fs', async () => {
  const { watchedFs } = await import(
    '../../test/kit/judges/file-operations.ts'
  );
  return watchedFs();
});

const project = '/home/user/project';

let grants: Grants;
/** The path of the only grant. */
let file: () => string;

beforeEach(() => {
  const { home, remove } = createTempWorkspace();
  onTestFinished(remove);
  grants = new Grants(home);
  file = () => {
    const [name = ''] = readdirSync(join(home, 'trust')).filter((one) =>
      one.endsWith('.json')
    );
    return join(home, 'trust', name);
  };
  watchFiles();
});

test('a grant is on the disk', () => {
  grants.add(project, { 'a.json': 'one' });
  expectDurable(file());
  watchFiles();
  grants.add(project, { 'b.json': 'two' });
  expectDurable(file());
});

test('a revoked grant does not come back after a power failure', () => {
  grants.add(project, {});
  const path = file();
  watchFiles();
  expect(grants.revoke(project)).toBe(true);
  expectGoneDurably(path);
});
