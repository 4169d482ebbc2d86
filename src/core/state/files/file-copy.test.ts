import {
  appendFileSync,
  linkSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  justBefore,
  watchFiles
} from '../../../../test/kit/judges/file-operations.ts';
import { createTempWorkspace } from '../../../../test/kit/workspaces/temp-workspace.ts';
import { copyWhole, isCopied, updateCopy } from './file-copy.ts';

vi.mock('node:fs', async () => {
  const { watchedFs } = await import(
    '../../../../test/kit/judges/file-operations.ts'
  );
  return watchedFs();
});

const lines = 'one\ntwo\n';
let folder: string;
let original: string;
let copy: string;
let other: string;

beforeEach(() => {
  watchFiles();
  const workspace = createTempWorkspace();
  onTestFinished(workspace.remove);
  folder = workspace.path;
  original = join(folder, 'log');
  copy = join(folder, 'copy');
  other = join(folder, 'other');
  writeFileSync(original, lines);
});

const textOf = (path: string) => readFileSync(path, 'utf8');
const inodeOf = (path: string) => statSync(path).ino;
const names = () => readdirSync(folder).sort();

test('a copy that lacks the last lines gets them, and stays the same file', () => {
  updateCopy(original, copy);
  expect([textOf(copy), isCopied(original, copy)]).toEqual([lines, true]);
  const inode = inodeOf(copy);
  appendFileSync(original, 'three\n');
  expect(isCopied(original, copy)).toBe(false);
  updateCopy(original, copy);
  expect([textOf(copy), inodeOf(copy)]).toEqual([`${lines}three\n`, inode]);
  expect(names()).toEqual(['copy', 'log']);
});

test('a copy that is up to date is not opened', () => {
  writeFileSync(copy, lines);
  let isOpened = false;
  justBefore('open', '/copy', () => {
    isOpened = true;
  });
  updateCopy(original, copy);
  expect([isOpened, textOf(copy)]).toEqual([false, lines]);
});

test('a link is no copy, even if it is as long as the original', () => {
  symlinkSync(other, copy);
  writeFileSync(original, 'x'.repeat(other.length));
  expect(isCopied(original, copy)).toBe(false);
});

describe('a copy is replaced', () => {
  const first = 'x'.repeat(5000);
  const expectReplaced = (inode: number) => {
    updateCopy(original, copy);
    expect(textOf(copy)).toBe(textOf(original));
    expect(inodeOf(copy)).not.toBe(inode);
  };

  test.each([
    ['when it is longer', `${lines}${lines}`],
    ['when it differs', 'one\nTWO'],
    [
      'when a part of it was changed',
      `${first.slice(0, 904)}y${'x'.repeat(4095)}`
    ]
  ])('%s', (_title, text) => {
    if (text.startsWith('x')) writeFileSync(original, `${first}end\n`);
    writeFileSync(copy, text);
    expectReplaced(inodeOf(copy));
  });

  test('when more than a megabyte is missing', () => {
    const megabyte = 1024 * 1024;
    writeFileSync(copy, lines);
    const inode = inodeOf(copy);
    appendFileSync(original, 'x'.repeat(megabyte));
    updateCopy(original, copy);
    expect(inodeOf(copy)).toBe(inode);
    appendFileSync(original, 'x'.repeat(megabyte + 1));
    expectReplaced(inode);
  });

  test('when it has another name, whose file stays', () => {
    writeFileSync(copy, 'one\n');
    linkSync(copy, other);
    expectReplaced(inodeOf(copy));
    expect(textOf(other)).toBe('one\n');
  });

  test('when it is a link, whose target stays', () => {
    writeFileSync(other, lines);
    symlinkSync(other, copy);
    expect(isCopied(original, copy)).toBe(false);
    expectReplaced(inodeOf(other));
    expect(textOf(other)).toBe(lines);
  });
});

describe('a copy that another process changes between look and write', () => {
  /** The second time that the copy is opened is to write. */
  function justBeforeWrite(act: () => void): void {
    writeFileSync(copy, 'one\n');
    justBefore('open', '/copy', () => undefined);
    justBefore('open', '/copy', act);
  }

  test.each([
    ['a link', 'ELOOP', (at: string) => symlinkSync(other, at)],
    ['a hard link', 'state_unsafe', (at: string) => linkSync(other, at)]
  ])(
    'is an error when it is %s now, and nothing is written',
    (_, code, put) => {
      writeFileSync(other, 'mine');
      justBeforeWrite(() => {
        rmSync(copy);
        put(copy);
      });
      expect(() => updateCopy(original, copy)).toThrow(
        expect.objectContaining({ code })
      );
      expect(textOf(other)).toBe('mine');
      updateCopy(original, copy);
      expect([textOf(copy), textOf(other)]).toEqual([lines, 'mine']);
    }
  );

  test('is whole after the next update when it was removed', () => {
    justBeforeWrite(() => rmSync(copy));
    updateCopy(original, copy);
    updateCopy(original, copy);
    expect(textOf(copy)).toBe(lines);
  });

  test('is replaced when it is no longer the file of the first look', () => {
    writeFileSync(copy, 'one\n');
    justBefore('open', '/copy', () => writeFileSync(copy, 'ONE\n'));
    updateCopy(original, copy);
    expect(textOf(copy)).toBe(lines);
  });
});

test('lines that are added during an update wait for the next one', () => {
  writeFileSync(copy, 'one\n');
  justBefore('open', '/log', () => appendFileSync(original, 'three\n'));
  updateCopy(original, copy);
  expect(textOf(copy)).toBe(lines);
  updateCopy(original, copy);
  expect(textOf(copy)).toBe(`${lines}three\n`);
});

test('a copy that cannot be replaced stays, and no temporary file is left', () => {
  writeFileSync(copy, 'old');
  justBefore('rename', '/copy', () => {
    throw new Error('refused');
  });
  expect(() => copyWhole(original, copy)).toThrow('refused');
  expect(textOf(copy)).toBe('old');
  expect(() => updateCopy(join(folder, 'none'), copy)).toThrow('ENOENT');
  expect(names()).toEqual(['copy', 'log']);
});
