import { execFileSync } from 'node:child_process';
import {
  closeSync,
  linkSync,
  lstatSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
  writeSync
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../../test/kit/workspaces/temp-workspace.ts';
import {
  appendTo,
  KeptFile,
  openToAppend,
  openToRepair,
  overwriteFile,
  overwriteStart,
  touch,
  truncateTo
} from './own-file.ts';

let workspace: TempWorkspace;
let path: string;

beforeEach(() => {
  workspace = createTempWorkspace();
  path = join(workspace.path, 'file');
});

afterEach(() => workspace.remove());

test('a new file is private under any umask, and writes are appended', () => {
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

test('a file keeps the permissions that its user gave it', () => {
  writeFileSync(path, '', { mode: 0o644 });
  appendTo(path, 'x');
  expect(statSync(path).mode & 0o777).toBe(0o644);
});

test('overwriting in place does not grow the file', () => {
  writeFileSync(path, `${' '.repeat(31)}\n`);
  overwriteStart(path, '127\n');
  expect(readFileSync(path, 'utf8')).toBe(`127\n${' '.repeat(27)}\n`);
  truncateTo(path, 3);
  expect(readFileSync(path, 'utf8')).toBe('127');
});

test('no write follows a link, whether its target exists or not', () => {
  const victim = join(workspace.home, 'victim');
  const nowhere = join(workspace.home, 'nowhere');
  writeFileSync(victim, 'theirs');
  const before = statSync(victim, { bigint: true }).mtimeNs;
  for (const target of [victim, nowhere]) {
    const link = `${path}-${target.length}`;
    symlinkSync(target, link);
    for (const write of [
      () => appendTo(link, 'x'),
      () => overwriteStart(link, 'x'),
      () => truncateTo(link, 0)
    ])
      expect(write).toThrow(/ELOOP/);
    touch(link);
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
  }
  expect(readFileSync(victim, 'utf8')).toBe('theirs');
  expect(statSync(victim, { bigint: true }).mtimeNs).toBe(before);
  expect(() => statSync(nowhere)).toThrow(/ENOENT/);
});

/** All functions that write to a state file in place. */
const writings: [name: string, write: (path: string) => void][] = [
  ['openToAppend', (file) => closeSync(openToAppend(file))],
  ['openToRepair', (file) => closeSync(openToRepair(file, true))],
  ['appendTo', (file) => appendTo(file, 'x')],
  ['overwriteStart', (file) => overwriteStart(file, 'x')],
  ['overwriteFile', (file) => overwriteFile(file, 'x')],
  ['truncateTo', (file) => truncateTo(file, 0)],
  ['KeptFile', (file) => new KeptFile(file).open()]
];

test.each(writings)(
  'attack: %s refuses a hard link to a file elsewhere',
  (_, write) => {
    const victim = join(workspace.home, 'victim');
    writeFileSync(victim, 'theirs');
    linkSync(victim, path);
    expect(() => write(path)).toThrow(
      expect.objectContaining({
        code: 'state_unsafe',
        message: expect.stringContaining(`${path} has another name`)
      })
    );
    expect(readFileSync(victim, 'utf8')).toBe('theirs');
  }
);

test.each(writings)('attack: %s does not wait for a FIFO', (_, write) => {
  execFileSync('mkfifo', [path]);
  expect(() => write(path)).toThrow(/ENXIO|is not a regular file/);
});

test('a file becomes writable when the process that creates it removes the draft', () => {
  const draft = `${path}.draft`;
  writeFileSync(draft, 'one ');
  linkSync(draft, path);
  expect(() => appendTo(path, 'two')).toThrow(/has another name/);
  unlinkSync(draft);
  appendTo(path, 'two');
  expect(readFileSync(path, 'utf8')).toBe('one two');
});

test('a kept file is the one that has its path at each write', () => {
  const kept = new KeptFile(path);
  const write = (text: string) => writeSync(kept.open(), text);
  write('one ');
  write('two');
  renameSync(path, `${path}.1`);
  write('three');
  unlinkSync(path);
  write('four');
  kept.close();
  expect(readFileSync(`${path}.1`, 'utf8')).toBe('one two');
  expect(readFileSync(path, 'utf8')).toBe('four');
});

test('a kept file is opened once', () => {
  const kept = new KeptFile(path);
  expect(kept.open()).toBe(kept.open());
  kept.close();
});

test('attack: a kept file that gets another name is not written again', () => {
  const kept = new KeptFile(path);
  writeSync(kept.open(), 'one');
  linkSync(path, join(workspace.home, 'other'));
  expect(() => kept.open()).toThrow(/has another name/);
  kept.close();
});
