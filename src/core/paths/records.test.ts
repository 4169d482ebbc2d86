import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../test/kit/workspaces/temp-workspace.ts';
import { currentPathIn, identityOf, restoreIdentity } from './records.ts';

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
  onTestFinished(workspace.remove);
});

/** The current path of a path, in a workspace that was moved. */
function current(path: string, ...formerly: string[]): string {
  const facts = { v: 1, id: '1a2b3c4d', workspace: workspace.path, formerly };
  workspace.writeRecord('workspace.json', JSON.stringify(facts));
  return currentPathIn(workspace.record)(path);
}

test('a path in a former place of the workspace is in the current one', () => {
  const here = workspace.path;
  expect(current('/old/a/b', '/old')).toBe(join(here, 'a/b'));
  expect(current('/old', '/old')).toBe(here);
  expect(current('/first/a', '/first', '/second')).toBe(join(here, 'a'));
});

test('every other path stays as it is', () => {
  for (const path of ['/older/a', '/old/../etc', '/old/a/../../etc', '/'])
    expect(current(path, '/old')).toBe(path);
  expect(current('/old/a')).toBe('/old/a');
  expect(currentPathIn('/nowhere')('/old/a')).toBe('/old/a');
});

test('a workspace that was moved into its former place keeps its new paths', () => {
  const here = workspace.path;
  const former = join(here, '..');
  mkdirSync(join(here, 'new'));
  expect(current(join(here, 'new'), former)).toBe(join(here, 'new'));
  expect(current(join(former, 'a'), former)).toBe(join(here, 'a'));
});

test('a damaged identity file does not stop a server that knows the identity, and is kept', () => {
  const { paths } = workspace;
  const identity = identityOf(paths);
  workspace.writeRecord('workspace.json', '{"v":1,');
  restoreIdentity(paths, identity);
  expect(readFileSync(paths.identity, 'utf8')).toBe('{"v":1,');
});
