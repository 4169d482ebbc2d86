import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../test/kit/workspaces/temp-workspace.ts';
import {
  type Changes,
  changesOf,
  keepChanges,
  patchOf,
  settlePatch
} from './change-file.ts';

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(() => workspace.remove());

/** A comparison that has written its patch, but not `changes.json`. */
function comparison(name: string): Changes {
  writeFileSync(join(workspace.path, name), name);
  const files = [{ path: name, added: 1, removed: 0 }];
  return { v: 1, files, total: 1, patch: name };
}

test('the first of two comparisons wins, with its patch', () => {
  const [one, two] = [comparison('one.tmp'), comparison('two.tmp')];
  keepChanges(workspace.path, one);
  keepChanges(workspace.path, two);
  expect(changesOf(workspace.path)).toEqual(one);
  expect(readFileSync(patchOf(workspace.path), 'utf8')).toBe('one.tmp');
  expect(readdirSync(workspace.path).sort()).toEqual([
    'changes.diff',
    'changes.json'
  ]);
});

test('the patch of a process that was killed gets its final name later', () => {
  const one = comparison('one.tmp');
  workspace.write('changes.json', JSON.stringify(one));
  keepChanges(workspace.path, comparison('two.tmp'));
  settlePatch(workspace.path);
  expect(readFileSync(patchOf(workspace.path), 'utf8')).toBe('one.tmp');
  expect(readdirSync(workspace.path)).not.toContain('two.tmp');
});

test('without a patch, no file is renamed', () => {
  settlePatch(workspace.path);
  keepChanges(workspace.path, { v: 1, patch: null, note: 'no git' });
  settlePatch(workspace.path);
  expect(readdirSync(workspace.path)).toEqual(['changes.json']);
});
