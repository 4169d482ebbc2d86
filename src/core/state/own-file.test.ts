import {
  closeSync,
  lstatSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../testing/temp-workspace.ts';
import { appendTo, cutTo, openToAppend, touch, writeOver } from './own-file.ts';

let workspace: TempWorkspace;
let path: string;

beforeEach(() => {
  workspace = createTempWorkspace();
  path = join(workspace.path, 'file');
});

afterEach(() => workspace.remove());

test('a new file is private under any mask, and grows at its end', () => {
  const mask = process.umask(0);
  try {
    appendTo(path, 'one ');
  } finally {
    process.umask(mask);
  }
  const descriptor = openToAppend(path);
  writeSync(descriptor, 'two');
  closeSync(descriptor);
  expect(readFileSync(path, 'utf8')).toBe('one two');
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test('a file that somebody has opened up stays open', () => {
  writeFileSync(path, '', { mode: 0o644 });
  appendTo(path, 'x');
  expect(statSync(path).mode & 0o777).toBe(0o644);
});

test('what is written over needs no more room', () => {
  writeFileSync(path, `${' '.repeat(31)}\n`);
  writeOver(path, '127\n');
  expect(readFileSync(path, 'utf8')).toBe(`127\n${' '.repeat(27)}\n`);
  cutTo(path, 3);
  expect(readFileSync(path, 'utf8')).toBe('127');
});

test('none of it follows a link, whether that leads somewhere or not', () => {
  const victim = join(workspace.home, 'victim');
  const nowhere = join(workspace.home, 'nowhere');
  writeFileSync(victim, 'theirs');
  const before = statSync(victim, { bigint: true }).mtimeNs;
  for (const target of [victim, nowhere]) {
    const link = `${path}-${target.length}`;
    symlinkSync(target, link);
    for (const write of [
      () => appendTo(link, 'x'),
      () => writeOver(link, 'x'),
      () => cutTo(link, 0)
    ])
      expect(write).toThrow(/ELOOP/);
    touch(link);
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
  }
  expect(readFileSync(victim, 'utf8')).toBe('theirs');
  expect(statSync(victim, { bigint: true }).mtimeNs).toBe(before);
  expect(() => statSync(nowhere)).toThrow(/ENOENT/);
});
