import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../testing/temp-workspace.ts';
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

/** Somebody looked: his patch is written, his words are not. */
function looked(name: string): Changes {
  writeFileSync(join(workspace.path, name), name);
  const files = [{ path: name, added: 1, removed: 0 }];
  return { v: 1, files, total: 1, patch: name };
}

test('of two who looked, the first counts, with his patch', () => {
  const [one, two] = [looked('one.tmp'), looked('two.tmp')];
  keepChanges(workspace.path, one);
  keepChanges(workspace.path, two);
  expect(changesOf(workspace.path)).toEqual(one);
  expect(readFileSync(patchOf(workspace.path), 'utf8')).toBe('one.tmp');
  expect(readdirSync(workspace.path).sort()).toEqual([
    'changes.diff',
    'changes.json'
  ]);
});

test('the patch of one who was killed in between gets its name later', () => {
  const one = looked('one.tmp');
  workspace.write('changes.json', JSON.stringify(one));
  keepChanges(workspace.path, looked('two.tmp'));
  settlePatch(workspace.path);
  expect(readFileSync(patchOf(workspace.path), 'utf8')).toBe('one.tmp');
  expect(readdirSync(workspace.path)).not.toContain('two.tmp');
});

test('where nothing was seen there is nothing to give a name to', () => {
  settlePatch(workspace.path);
  keepChanges(workspace.path, { v: 1, patch: null, note: 'no git' });
  settlePatch(workspace.path);
  expect(readdirSync(workspace.path)).toEqual(['changes.json']);
});
