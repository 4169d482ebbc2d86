import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import {
  expectDurable,
  expectGoneDurably,
  expectNameDurable,
  justBefore,
  watchFiles
} from '../../../test/kit/judges/file-operations.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../test/kit/workspaces/temp-workspace.ts';
import { pathsOf } from './paths.ts';
import { adoptRecord, identityOf, restoreIdentity } from './records.ts';

vi.mock('node:fs', async () => {
  const { watchedFs } = await import(
    '../../../test/kit/judges/file-operations.ts'
  );
  return watchedFs();
});

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
  onTestFinished(workspace.remove);
  watchFiles();
});

test('the identity of a record is on the disk', () => {
  identityOf(workspace.paths);
  expectDurable(workspace.paths.identity);
});

test('a restored identity is on the disk', () => {
  const { paths } = workspace;
  const identity = identityOf(paths);
  rmSync(paths.identity);
  watchFiles();
  restoreIdentity(paths, identity);
  expectDurable(paths.identity);
});

test('a record that was taken over is on the disk under its new path only', () => {
  const { from, to } = moved();
  adoptRecord(from.workspace, to, () => undefined);
  expectNameDurable(to.record);
  expectGoneDurably(from.record);
  expectDurable(to.identity);
});

test('a record has its new path on the disk before it names its new workspace', () => {
  const { from, to } = moved();
  let wasNamed = false;
  justBefore('rename', to.identity, () => {
    wasNamed = true;
    expectNameDurable(to.record);
  });
  adoptRecord(from.workspace, to, () => undefined);
  expect(wasNamed).toBe(true);
});

/** The paths of a workspace that is gone, and of the one it was moved to. */
function moved() {
  const { paths: to, path } = workspace;
  const from = pathsOf(join(path, '..', 'before'), to.home);
  identityOf(from);
  watchFiles();
  return { from, to };
}
