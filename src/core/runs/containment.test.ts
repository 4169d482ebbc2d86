import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../testing/temp-workspace.ts';
import { HostError } from '../errors.ts';
import { resolveDirectory } from './containment.ts';

let workspace: TempWorkspace;
let root: string;

beforeEach(() => {
  workspace = createTempWorkspace();
  root = workspace.path;
  mkdirSync(join(root, 'inner', 'deep'), { recursive: true });
  mkdirSync(join(root, '..foo'));
  mkdirSync(join(root, '...'));
  mkdirSync(join(root, '-flag'));
  workspace.write('file', '');
  symlinkSync(workspace.home, join(root, 'out'));
  symlinkSync(join(root, 'inner'), join(root, 'in'));
  symlinkSync('loop', join(root, 'loop'));
  symlinkSync('nowhere', join(root, 'dangling'));
  symlinkSync(join(workspace.home, 'nowhere'), join(root, 'dangling-out'));
});

afterEach(() => workspace.remove());

function codeOf(asked: string): string {
  try {
    return resolveDirectory(root, asked);
  } catch (error) {
    if (error instanceof HostError) return error.code;
    throw error;
  }
}

test('nothing asked for is the root', () => {
  expect(resolveDirectory(root, undefined)).toBe(root);
  expect(resolveDirectory(root, '')).toBe(root);
});

test.each([
  ['.', ''],
  ['inner', '/inner'],
  ['./inner/../inner/deep/', '/inner/deep'],
  ['in/deep', '/inner/deep'],
  ['..foo', '/..foo'],
  ['...', '/...'],
  ['-flag', '/-flag']
])('%s is inside', (asked, path) => {
  expect(codeOf(asked)).toBe(`${root}${path}`);
});

test('an absolute path is taken when it is inside', () => {
  expect(codeOf(join(root, 'inner'))).toBe(join(root, 'inner'));
});

test.each([
  '..',
  '../x',
  'inner/../../x',
  '/',
  '/etc',
  '/no/such/place',
  'out',
  'out/below/..',
  'out/nothing',
  'out/nothing/deep'
])('%s is outside', (asked) => {
  expect(codeOf(asked)).toBe('cwd_outside');
});

test('a sibling whose name begins alike is outside', () => {
  mkdirSync(`${root}-2`);
  expect(codeOf(`${root}-2`)).toBe('cwd_outside');
});

test.each([
  'nothing',
  'file',
  'file/below',
  'loop',
  'loop/below',
  'dangling',
  'dangling-out',
  'nul\0',
  'in/nothing'
])('%j is no directory', (asked) => {
  expect(codeOf(asked)).toBe('cwd_missing');
});

describe('a workspace that is reached by a link', () => {
  let link: string;

  beforeEach(() => {
    link = join(workspace.home, 'link');
    symlinkSync(root, link);
  });

  test('is itself', () => {
    for (const asked of ['inner', join(link, 'inner'), join(root, 'inner')])
      expect(resolveDirectory(link, asked)).toBe(join(root, 'inner'));
  });

  test('may be spelled either way where only its real path is known', () => {
    for (const asked of ['inner', 'in', 'in/../inner'])
      expect(codeOf(join(link, asked))).toBe(join(root, 'inner'));
    expect(codeOf(link)).toBe(root);
  });

  test('has the same missing directories', () => {
    for (const asked of ['nothing', 'in/nothing/deep', 'file', 'loop'])
      expect(codeOf(join(link, asked))).toBe('cwd_missing');
  });

  test('opens no way out', () => {
    symlinkSync(workspace.home, join(root, 'inner', 'out'));
    for (const asked of ['out', 'out/nothing', 'in/out', '..', '../nothing'])
      expect(codeOf(join(link, asked))).toBe('cwd_outside');
  });
});
