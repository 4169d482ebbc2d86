import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  createGitWorkspace,
  type GitWorkspace
} from '../../test/kit/workspaces/git-workspace.ts';
import { type DiffFile, parseDiff } from './unified-diff.ts';

let workspace: GitWorkspace;

beforeEach(() => {
  workspace = createGitWorkspace();
});

afterEach(() => workspace.remove());

const write = (name: string, text: string | Buffer) =>
  writeFileSync(join(workspace.path, name), text);

/** What git says of all changes since the last commit. */
function patch(): string {
  workspace.git('add', '-A');
  return workspace.git('diff', '--cached', '--binary', '-M');
}

/** The new text of a file, as far as its hunks show it. */
const newText = ({ hunks }: DiffFile) =>
  hunks
    .flatMap(({ lines }) => lines)
    .filter(({ kind }) => kind === 'same' || kind === 'added')
    .map(({ text }) => text)
    .join('\n');

describe('a patch of git', () => {
  test('has its files, hunks and lines, with their numbers', () => {
    write('readme.txt', 'one\nTWO\nthree\n');
    write('new.txt', '-- not a header\n++ nor this\n@@ -1 +1 @@\n');
    const { files, filesLeftOut } = parseDiff(patch());
    expect(filesLeftOut).toBe(0);
    expect(files.map(({ path, change }) => [path, change])).toEqual([
      ['new.txt', 'added'],
      ['readme.txt', 'changed']
    ]);
    const [added, changed] = files;
    expect(added).toMatchObject({ added: 3, removed: 0, isBinary: false });
    expect(added && newText(added)).toBe(
      '-- not a header\n++ nor this\n@@ -1 +1 @@'
    );
    expect(changed?.hunks).toMatchObject([
      {
        header: '@@ -1,3 +1,3 @@',
        lines: [
          { kind: 'same', text: 'one', old: 1, new: 1 },
          { kind: 'removed', text: 'two', old: 2 },
          { kind: 'added', text: 'TWO', new: 2 },
          { kind: 'same', text: 'three', old: 3, new: 3 }
        ]
      }
    ]);
  });

  test('names files that were moved, removed, binary or without a newline', () => {
    write('moved.txt', 'a\nb\nc\nd\n');
    write('gone.txt', 'x\n');
    workspace.git('add', '-A');
    workspace.commit('more');
    renameSync(
      join(workspace.path, 'moved.txt'),
      join(workspace.path, 'there.txt')
    );
    rmSync(join(workspace.path, 'gone.txt'));
    write('blob.bin', Buffer.from([0, 255, 1]));
    write('readme.txt', 'one\ntwo\nthree');
    const { files } = parseDiff(patch());
    const byPath = Object.fromEntries(files.map((file) => [file.path, file]));
    expect(byPath['there.txt']).toMatchObject({
      change: 'renamed',
      oldPath: 'moved.txt',
      hunks: []
    });
    expect(byPath['gone.txt']).toMatchObject({ change: 'deleted', removed: 1 });
    expect(byPath['blob.bin']).toMatchObject({
      isBinary: true,
      change: 'added',
      hunks: []
    });
    expect(byPath['readme.txt']?.hunks[0]?.lines.at(-1)).toEqual({
      kind: 'note',
      text: 'No newline at end of file'
    });
  });

  test.each([
    'with blank.txt',
    'a b/c b/d.txt',
    'é "quoted"\ttab.txt',
    '<img src=x onerror=alert(1)>.txt',
    'back\\slash\nnewline.txt'
  ])('has the path %j as it is', (name) => {
    const folder = name.slice(0, name.lastIndexOf('/') + 1);
    mkdirSync(join(workspace.path, folder), { recursive: true });
    write(name, 'x\n');
    expect(parseDiff(patch()).files).toMatchObject([
      { path: name, change: 'added', added: 1 }
    ]);
    workspace.commit('more');
    write(name, '');
    expect(parseDiff(patch()).files).toMatchObject([
      { path: name, change: 'changed', removed: 1 }
    ]);
  });

  test('is read the same when each line ends as on Windows', () => {
    write('readme.txt', 'one\r\nTWO\r\nthree\r\n');
    const { files } = parseDiff(patch());
    expect(files[0] && newText(files[0])).toBe('one\nTWO\nthree');
  });
});

test('a patch of diff -u has its files, and times are no part of the paths', () => {
  write('b.txt', 'two\n-- x\n');
  write('c.txt', 'two\n');
  const diff = (...names: string[]) => {
    try {
      return execFileSync('/bin/sh', ['-c', `diff -u ${names.join(' ')}`], {
        cwd: workspace.path,
        encoding: 'utf8'
      });
    } catch (error) {
      return String(Reflect.get(Object(error), 'stdout'));
    }
  };
  const both = `${diff('b.txt', 'c.txt')}${diff('readme.txt', 'c.txt')}`;
  const { files } = parseDiff(both);
  expect(files).toMatchObject([
    { path: 'c.txt', added: 0, removed: 1 },
    { path: 'c.txt', added: 0, removed: 2 }
  ]);
});

test('hunks without headers are a file without a path', () => {
  expect(parseDiff('@@ -1,1 +1,2 @@\n a\n+b').files).toMatchObject([
    { path: '', added: 1, removed: 0, hunks: [{ lines: [{}, {}] }] }
  ]);
});

test('lines and files beyond the limits are counted and left out', () => {
  for (const name of ['a', 'b', 'c']) write(name, 'x\n'.repeat(10));
  const limits = { filesAtMost: 2, linesPerFile: 4, lines: 6 };
  const { files, filesLeftOut } = parseDiff(patch(), limits);
  expect(filesLeftOut).toBe(1);
  expect(
    files.map(({ added, linesLeftOut, hunks }) => [
      added,
      linesLeftOut,
      hunks[0]?.lines.length
    ])
  ).toEqual([
    [10, 6, 4],
    [10, 8, 2]
  ]);
});

test('any text is read without an error, and any cut patch too', () => {
  write('readme.txt', 'one\nTWO\nthree\n');
  write('"x".txt', 'a\n');
  const whole = patch();
  fc.assert(
    fc.property(fc.nat(whole.length), (end) => {
      expect(parseDiff(whole.slice(0, end)).files.length).toBeLessThan(3);
    })
  );
  const line = fc.oneof(
    fc.string(),
    fc.constantFrom(
      ...['diff --git ', 'diff --git a/x b/y', '--- ', '+++ "', '@@ -1 +1 @@'],
      ...['@@ -1,9 +1,9 @@', '+', '-', ' ', '\\', 'rename from', '--- "\\']
    )
  );
  fc.assert(
    fc.property(fc.array(line), (lines) => {
      parseDiff(lines.join('\n'));
    })
  );
});
