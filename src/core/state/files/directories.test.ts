import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../../test/kit/workspaces/temp-workspace.ts';
import { ensureDirectory } from './directories.ts';

let workspace: TempWorkspace;
let path: string;

beforeEach(() => {
  workspace = createTempWorkspace();
  path = join(workspace.path, 'state');
});

afterEach(() => workspace.remove());

const modeOf = (directory: string) => statSync(directory).mode & 0o777;

test('new directories are private, and the topmost ignores itself in git', () => {
  ensureDirectory(join(path, 'spawns', 'x'));

  for (const directory of ['', 'spawns', 'spawns/x'])
    expect(modeOf(join(path, directory))).toBe(0o700);
  const ignore = join(path, '.gitignore');
  expect(readFileSync(ignore, 'utf8')).toBe('*\n');
  expect(modeOf(ignore)).toBe(0o600);
  expect(existsSync(join(path, 'spawns', '.gitignore'))).toBe(false);
});

test('an existing directory stays unchanged', () => {
  mkdirSync(path);
  chmodSync(path, 0o755);
  writeFileSync(join(path, 'theirs'), 'x');
  ensureDirectory(path);
  expect(modeOf(path)).toBe(0o755);
  expect(existsSync(join(path, '.gitignore'))).toBe(false);

  ensureDirectory(join(path, 'ours', 'deep'));
  expect(modeOf(path)).toBe(0o755);
  expect(modeOf(join(path, 'ours'))).toBe(0o700);
  expect(existsSync(join(path, 'ours', '.gitignore'))).toBe(true);
});

test('a link or a file in place of a directory is refused', () => {
  symlinkSync(workspace.home, path);
  expect(() => ensureDirectory(path)).toThrow(/is a symbolic link/);
  symlinkSync(join(workspace.home, 'none'), join(workspace.path, 'nowhere'));
  expect(() => ensureDirectory(join(workspace.path, 'nowhere'))).toThrow(
    /is a symbolic link/
  );
  expect(readdirSync(workspace.home)).toEqual([]);
  writeFileSync(join(workspace.path, 'file'), '');
  expect(() => ensureDirectory(join(workspace.path, 'file'))).toThrow(/EEXIST/);
});

test('a link in a parent directory is followed, because the user chose it', () => {
  const link = join(workspace.path, 'link');
  symlinkSync(workspace.home, link);
  ensureDirectory(join(link, 'ours'));
  expect(modeOf(join(workspace.home, 'ours'))).toBe(0o700);
});

test('an existing .gitignore stays unchanged', () => {
  mkdirSync(path);
  writeFileSync(join(path, '.gitignore'), 'theirs\n');
  ensureDirectory(join(path, 'spawns'));
  expect(readFileSync(join(path, '.gitignore'), 'utf8')).toBe('theirs\n');
});
