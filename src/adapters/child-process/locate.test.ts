import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  writeFileSync
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { locate } from './locate.ts';

let first: string;
let second: string;

beforeAll(() => {
  first = mkdtempSync(join(tmpdir(), 'troupe-locate-'));
  second = join(first, 'second');
  mkdirSync(join(first, 'folder'));
  mkdirSync(second);
  program(join(second, 'both'));
  program(join(first, 'both'));
  program(join(second, 'folder'));
  writeFileSync(join(first, 'text'), 'no program', { mode: 0o644 });
});

afterAll(() => rmSync(first, { recursive: true }));

test('the first program of that name on PATH is found', () => {
  expect(locate('both', path())).toBe(join(first, 'both'));
});

test('folders and files that are not executable are skipped', () => {
  expect(locate('folder', path())).toBe(join(second, 'folder'));
  expect(locate('text', path())).toBeUndefined();
});

test('an absolute path is returned if it is a program', () => {
  expect(locate(join(second, 'both'), '')).toBe(join(second, 'both'));
  expect(locate(join(second, 'none'), path())).toBeUndefined();
});

test('an empty entry on PATH does not mean the working directory', () => {
  const before = process.cwd();
  process.chdir(first);
  try {
    expect(locate('both', delimiter)).toBeUndefined();
  } finally {
    process.chdir(before);
  }
});

test('attack: no program is looked for in a relative entry on PATH', () => {
  const before = process.cwd();
  process.chdir(first);
  try {
    for (const entry of ['.', './', 'second', '../', './second'])
      expect(locate('both', entry)).toBeUndefined();
    expect(locate('both', `.${delimiter}${second}`)).toBe(join(second, 'both'));
  } finally {
    process.chdir(before);
  }
});

function path(): string {
  return [first, second].join(delimiter);
}

function program(file: string): void {
  writeFileSync(file, '#!/bin/sh\n');
  chmodSync(file, 0o755);
}
