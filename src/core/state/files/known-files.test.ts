import {
  appendFileSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { KnownFiles, readOnce } from './known-files.ts';

let path: string;

beforeEach(() => {
  const directory = mkdtempSync(join(tmpdir(), 'troupe-known-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  path = join(directory, 'file');
  writeFileSync(path, 'one');
});

/** Reads the file, and counts how often that takes a read. */
function counted(files = new KnownFiles<string | undefined>(2)) {
  let reads = 0;
  const read = (at = path) =>
    files.read(at, () => {
      reads += 1;
      return readOnce(at, () => false);
    });
  return { read, reads: () => reads };
}

test('a file that stays as it is is read once', () => {
  const { read, reads } = counted();
  expect([read(), read(), read()]).toEqual(['one', 'one', 'one']);
  expect(reads()).toBe(1);
});

test('a file that has grown is read again', () => {
  const { read } = counted();
  read();
  appendFileSync(path, ' two');
  expect(read()).toBe('one two');
});

test('a file that was replaced is read again, though it has the same size', () => {
  const { read } = counted();
  read();
  writeFileSync(`${path}.new`, 'two');
  renameSync(`${path}.new`, path);
  expect(read()).toBe('two');
});

test('a file that was removed is not there, and is read when it is back', () => {
  expect(readOnce(path)).toBe('one');
  rmSync(path);
  expect(readOnce(path)).toBeUndefined();
  writeFileSync(path, 'two');
  expect(readOnce(path)).toBe('two');
});

test('a file behind a link is read each time', () => {
  symlinkSync(path, `${path}-link`);
  const { read, reads } = counted();
  read(`${path}-link`);
  read(`${path}-link`);
  expect(reads()).toBe(2);
});

test('only as many files as allowed are kept, the latest ones', () => {
  const { read, reads } = counted();
  for (const name of ['a', 'b', 'c']) {
    writeFileSync(`${path}-${name}`, name);
    read(`${path}-${name}`);
  }
  read(`${path}-c`);
  expect(reads()).toBe(3);
  read(`${path}-a`);
  expect(reads()).toBe(4);
});
