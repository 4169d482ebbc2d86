import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../../test/kit/workspaces/temp-workspace.ts';
import {
  NotRegular,
  openRegularAsync,
  ownReadFlags,
  readRegular,
  streamRegular
} from './regular-file.ts';

let workspace: TempWorkspace;
let path: string;

beforeEach(() => {
  workspace = createTempWorkspace();
  path = join(workspace.path, 'file');
});

afterEach(() => workspace.remove());

test('a regular file is read, also through a link', async () => {
  writeFileSync(path, 'text');
  const link = `${path}-link`;
  symlinkSync(path, link);
  expect(readRegular(link).toString()).toBe('text');
  const parts = [];
  for await (const part of await streamRegular(path)) parts.push(String(part));
  expect(parts).toEqual(['text']);
  expect(() => readRegular(link, ownReadFlags)).toThrow(/ELOOP/);
  await expect(streamRegular(link)).rejects.toThrow(/ELOOP/);
});

test.each([
  ['FIFO', () => void execFileSync('mkfifo', [path])],
  ['directory', () => mkdirSync(path)],
  ['link to an endless device', () => symlinkSync('/dev/zero', path)]
])('attack: a %s is refused at once', async (_, put) => {
  put();
  expect(() => readRegular(path)).toThrow(NotRegular);
  await expect(openRegularAsync(path)).rejects.toThrow(NotRegular);
});
