import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../../test/kit/workspaces/temp-workspace.ts';
import { replaceInParts } from './atomic-file.ts';

let workspace: TempWorkspace;
let path: string;

beforeEach(() => {
  workspace = createTempWorkspace();
  path = join(workspace.path, 'view');
});

afterEach(() => workspace.remove());

test('a reader sees the old file until all parts are written', async () => {
  writeFileSync(path, 'old');
  const seen: string[] = [];
  const see = () => seen.push(readFileSync(path, 'utf8'));
  function* parts() {
    see();
    yield 'né';
    see();
    yield Buffer.from('w');
    see();
  }
  await replaceInParts(path, parts(), () => see() > 0);
  see();
  expect(seen).toEqual(['old', 'old', 'old', 'old', 'néw']);
  expect(readdirSync(workspace.path)).toEqual(['view']);
});

test('a failed replacement leaves the old file, and no other file', async () => {
  writeFileSync(path, 'old');
  const failing = () => {
    throw new Error('not now');
  };
  await expect(replaceInParts(path, ['new'], failing)).rejects.toThrow('not');
  expect(readFileSync(path, 'utf8')).toBe('old');

  const folder = join(workspace.path, 'folder');
  mkdirSync(folder);
  await expect(replaceInParts(folder, ['new'])).rejects.toThrow();
  expect(readdirSync(workspace.path).sort()).toEqual(['folder', 'view']);

  const nowhere = join(workspace.path, 'none', 'view');
  await expect(replaceInParts(nowhere, ['new'])).rejects.toThrow('ENOENT');
});
