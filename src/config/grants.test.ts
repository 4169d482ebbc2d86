import {
  chmodSync,
  chownSync,
  linkSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../test/kit/workspaces/temp-workspace.ts';
import { Grants } from './grants.ts';

let workspace: TempWorkspace;
let grants: Grants;
let directory: string;

beforeEach(() => {
  workspace = createTempWorkspace();
  grants = new Grants(workspace.home);
  directory = join(workspace.home, 'trust');
});

afterEach(() => workspace.remove());

/** Grants a file, and gives the path of the grant. */
function granted(): string {
  grants.add('/project', { '/project/a': 'digest' });
  return join(directory, named()[0] ?? '');
}

/** The names of all grants. */
function named(): string[] {
  return readdirSync(directory).filter((name) => name.endsWith('.json'));
}

const files = () => grants.of('/project')?.files;

test('a grant is read back, for the user alone', () => {
  const file = granted();
  expect(files()).toEqual({ '/project/a': 'digest' });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(statSync(directory).mode & 0o777).toBe(0o700);
});

test('another grant adds files, and replaces the digest of a known one', () => {
  granted();
  grants.add('/project', { '/project/b': 'b' });
  grants.add('/project', { '/project/a': 'new' });
  expect(files()).toEqual({ '/project/a': 'new', '/project/b': 'b' });
});

test.each(['644', '640', '604', '600', '400'])(
  'a grant of mode %s, which others cannot write, counts',
  (mode) => {
    chmodSync(granted(), Number.parseInt(mode, 8));
    expect(files()).toBeDefined();
    expect(grants.all()).toHaveLength(1);
  }
);

test.each(['620', '602', '666', '660'])(
  'a grant of mode %s, which others can write, counts for nothing',
  (mode) => {
    chmodSync(granted(), Number.parseInt(mode, 8));
    expect(files()).toBeUndefined();
    expect(grants.all()).toEqual([]);
  }
);

test.runIf(process.getuid?.() === 0)(
  'a grant that another user owns counts for nothing',
  () => {
    chownSync(granted(), 65_534, 65_534);
    expect(files()).toBeUndefined();
  }
);

test('a grant that is a link, or has a second name, counts for nothing', () => {
  const file = granted();
  linkSync(file, join(workspace.home, 'other'));
  expect(files()).toBeUndefined();
  renameSync(file, join(workspace.home, 'moved'));
  symlinkSync(join(workspace.home, 'moved'), file);
  expect(files()).toBeUndefined();
});

test('a grant of one workspace counts for no other one', () => {
  const file = granted();
  expect(grants.of('/project2')).toBeUndefined();
  grants.add('/project2', { x: 'y' });
  const other = named().find((name) => !file.endsWith(name));
  writeFileSync(join(directory, other ?? ''), readFileSync(file));
  expect(grants.of('/project2')).toBeUndefined();
});

test.each([
  ['{'],
  ['{"v":2,"workspace":"/project","granted_at":"","files":{}}'],
  ['{"v":1,"workspace":"/project","granted_at":"","files":{"a":1}}'],
  ['{"v":1,"granted_at":"","files":{}}']
])('the invalid grant %s counts for nothing', (text) => {
  writeFileSync(granted(), text);
  expect(files()).toBeUndefined();
});

test('a revoked grant is gone, and a second time there is none', () => {
  granted();
  expect(grants.revoke('/project')).toBe(true);
  expect(files()).toBeUndefined();
  expect(named()).toEqual([]);
  expect(grants.revoke('/project')).toBe(false);
});

test('all grants are listed by workspace; other files are none', () => {
  for (const path of ['/b', '/a', '/c']) grants.add(path, {});
  writeFileSync(join(directory, 'x.json'), '{}');
  expect(grants.all().map(({ workspace: path }) => path)).toEqual([
    '/a',
    '/b',
    '/c'
  ]);
});
