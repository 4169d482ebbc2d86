import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../../test/kit/workspaces/temp-workspace.ts';
import { HostError } from '../../errors.ts';
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

function codeOf(requested: string): string {
  try {
    return resolveDirectory(root, requested);
  } catch (error) {
    if (error instanceof HostError) return error.code;
    throw error;
  }
}

test('without a cwd, the root is used', () => {
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
])('%s is inside the workspace', (requested, path) => {
  expect(codeOf(requested)).toBe(`${root}${path}`);
});

test('an absolute path inside the workspace is accepted', () => {
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
])('%s is outside the workspace', (requested) => {
  expect(codeOf(requested)).toBe('cwd_outside');
});

test('a sibling whose name begins with that of the workspace is outside', () => {
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
])('%j is refused because it is not a directory', (requested) => {
  expect(codeOf(requested)).toBe('cwd_missing');
});

describe('a workspace that is opened through a link', () => {
  let link: string;

  beforeEach(() => {
    link = join(workspace.home, 'link');
    symlinkSync(root, link);
  });

  test('is resolved to its real path', () => {
    for (const requested of ['inner', join(link, 'inner'), join(root, 'inner')])
      expect(resolveDirectory(link, requested)).toBe(join(root, 'inner'));
  });

  test('accepts paths through the link when only its real path is known', () => {
    for (const requested of ['inner', 'in', 'in/../inner'])
      expect(codeOf(join(link, requested))).toBe(join(root, 'inner'));
    expect(codeOf(link)).toBe(root);
  });

  test('reports the same missing directories', () => {
    for (const requested of ['nothing', 'in/nothing/deep', 'file', 'loop'])
      expect(codeOf(join(link, requested))).toBe('cwd_missing');
  });

  test('allows no path out of the workspace', () => {
    symlinkSync(workspace.home, join(root, 'inner', 'out'));
    for (const requested of [
      'out',
      'out/nothing',
      'in/out',
      '..',
      '../nothing'
    ])
      expect(codeOf(join(link, requested))).toBe('cwd_outside');
  });
});
