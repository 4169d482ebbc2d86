import {
  appendFileSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { needing } from '../../../../test/kit/workspaces/needs.ts';
import {
  canMount,
  mountSmallDisk
} from '../../../../test/kit/workspaces/small-disk.ts';
import { createTempWorkspace } from '../../../../test/kit/workspaces/temp-workspace.ts';
import { appendLines, repairLines } from './append.ts';

const onSmallDisk = needing('right to mount a disk', canMount());

let directory: string;
let path: string;
let torn: string;

beforeEach(() => {
  const workspace = createTempWorkspace();
  onTestFinished(workspace.remove);
  directory = workspace.path;
  path = join(directory, 'log.jsonl');
  torn = join(directory, 'aside');
});

const read = () => readFileSync(path, 'utf8');

/** The torn lines in separate files, oldest first. */
function putAside(): string[] {
  return readdirSync(directory)
    .filter((name) => /^aside\.torn-\d+-\d+$/.test(name))
    .sort()
    .map((name) => readFileSync(join(directory, name), 'utf8'));
}

test('lines are appended to a file that only its user can read', () => {
  appendLines(path, ['{"a":1}', 'é'], torn);
  appendLines(path, [''], torn);
  expect(read()).toBe('{"a":1}\né\n\n');
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(putAside()).toEqual([]);
});

test('appending no lines creates no file', () => {
  appendLines(path, [], torn)();
  expect(readdirSync(directory)).toEqual([]);
});

test('an append can be undone completely', () => {
  appendLines(path, ['1'], torn);
  appendLines(path, ['2', '3'], torn)();
  expect(read()).toBe('1\n');
  appendLines(path, ['4'], torn);
  expect(read()).toBe('1\n4\n');
});

test('a torn line of a killed process is moved to a separate file, whatever its bytes', () => {
  fc.assert(
    fc.property(
      fc.array(fc.stringMatching(/^[a-z]{0,9}$/), { maxLength: 4 }),
      fc.oneof(
        fc.uint8Array({ minLength: 1, maxLength: 30 }),
        // Longer than a block of 64 KB.
        fc.integer({ min: 65_530, max: 200_000 }).map((n) => Buffer.alloc(n, 1))
      ),
      (lines, bytes) => {
        const left = Buffer.from(bytes).map((byte) => (byte === 10 ? 0 : byte));
        const whole = lines.map((line) => `${line}\n`).join('');
        writeFileSync(path, whole);
        appendFileSync(path, left);
        const before = putAside();
        appendLines(path, ['new'], torn);
        expect(read()).toBe(`${whole}new\n`);
        const added = putAside().filter((text) => !before.includes(text));
        if (!before.includes(left.toString()))
          expect(added).toEqual([left.toString()]);
      }
    ),
    { numRuns: 60 }
  );
});

test('a repair changes nothing else, and a second one changes nothing', () => {
  writeFileSync(path, 'one\ntwo');
  repairLines(path, torn);
  repairLines(path, torn);
  expect(read()).toBe('one\n');
  expect(putAside()).toEqual(['two']);
});

test('a link in place of the file is refused', () => {
  const theirs = join(directory, 'theirs');
  writeFileSync(theirs, 'theirs\n');
  symlinkSync(theirs, path);
  expect(() => appendLines(path, ['x'], torn)).toThrow(/ELOOP/);
  expect(() => repairLines(path, torn)).toThrow(/ELOOP/);
  expect(readFileSync(theirs, 'utf8')).toBe('theirs\n');
});

onSmallDisk('of lines that have no room, nothing is written', () => {
  const disk = mountSmallDisk(directory, 128);
  onTestFinished(disk.unmount);
  appendLines(path, ['first'], torn);
  const many = Array.from({ length: 300 }, () => 'x'.repeat(1000));
  expect(() => appendLines(path, many, torn)).toThrow(/ENOSPC/);
  expect(read()).toBe('first\n');
  appendLines(path, ['second'], torn);
  expect(read()).toBe('first\nsecond\n');
});

onSmallDisk(
  'a torn line that cannot be set aside stays, and nothing is appended',
  () => {
    const disk = mountSmallDisk(directory, 128);
    onTestFinished(disk.unmount);
    appendFileSync(path, `first\n${'t'.repeat(20_000)}`);
    disk.fill();
    const before = read();
    expect(() => appendLines(path, ['second'], torn)).toThrow(/ENOSPC/);
    expect(read()).toBe(before);
    expect(putAside()).toEqual([]);
    disk.free();
    appendLines(path, ['second'], torn);
    expect(read()).toBe('first\nsecond\n');
    expect(putAside()).toEqual(['t'.repeat(20_000)]);
  }
);
