import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  rmSync,
  type Stats,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../../test/kit/workspaces/temp-workspace.ts';
import { HostError } from '../../errors.ts';
import {
  checkState,
  councilPaths,
  type OwnershipProbe,
  recordFolders,
  statePathsOf
} from './state-guard.ts';

const shared = ['agents', 'council', 'run', 'worktrees'];

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(() => workspace.remove());

const uid = process.geteuid?.() ?? 0;
/** A file system that reports the real owner and mode of each file. */
const usual = (self: number): OwnershipProbe => ({
  uid: self,
  probe: () => ({ uid: self, mode: 0o40700 }) as Stats
});

function problem(ownership?: OwnershipProbe): string {
  try {
    checkState(statePathsOf(workspace.paths), ownership);
    return '';
  } catch (error) {
    expect(error).toBeInstanceOf(HostError);
    if (!(error instanceof HostError)) throw error;
    expect(error.code).toBe('state_unsafe');
    expect(error.hint).toMatch(/^Nothing was written\. /);
    return error.message;
  }
}

/** `spawns` is in the record, `./logs` in the workspace. */
function placeOf(path: string): string {
  const { path: root, record } = workspace;
  return path.startsWith('./') ? join(root, path) : join(record, path);
}

function make(path: string, mode = 0o700): string {
  const directory = placeOf(path);
  mkdirSync(directory, { recursive: true });
  chmodSync(directory, mode);
  return directory;
}

test('missing paths and paths of this user are accepted', () => {
  expect(problem()).toBe('');
  for (const folder of recordFolders) make(folder);
  for (const folder of shared) make(`./.agents/${folder}`);
  make('./logs/archive');
  writeFileSync(join(workspace.record, 'iac.jsonl'), '');
  expect(problem()).toBe('');
});

test('no path may be a link, not even a dangling one', () => {
  const parts = ['', '..', '../..', './.agents', './logs', ...recordFolders];
  for (const folder of shared) parts.push(`./.agents/${folder}`);
  parts.push('./logs/archive', './logs/agents', 'iac.jsonl', 'counts/sizes');
  for (const part of parts)
    for (const target of [workspace.home, join(workspace.home, 'none')]) {
      workspace.remove();
      workspace = createTempWorkspace();
      const path = placeOf(part);
      mkdirSync(join(path, '..'), { recursive: true });
      symlinkSync(target, path);
      expect(problem()).toContain(`${path} is a symbolic link`);
    }
});

test('a file in place of a directory, and the reverse, is accepted', () => {
  writeFileSync(join(workspace.path, 'logs'), '');
  make('counts/sizes');
  expect(problem()).toBe('');
});

test('a FIFO in place of the journal is refused, because a write would block', () => {
  make('');
  const path = join(workspace.record, 'iac.jsonl');
  execFileSync('mkfifo', [path]);
  expect(problem()).toBe(`${path} is not a regular file.`);
});

test('a directory may be writable by its group, but not by everyone', () => {
  for (const mode of [0o755, 0o775, 0o770]) {
    make('spawns', mode);
    expect(problem()).toBe('');
  }
  const path = make('spawns', 0o777);
  expect(problem()).toBe(
    `${path} can be changed by every user of this machine.`
  );
  // The check removes the directory that it created as a probe.
  expect(readdirSync(workspace.record)).toEqual(['spawns']);
  // The sticky bit makes no difference.
  chmodSync(path, 0o1777);
  expect(problem()).toContain('every user');
});

test('a file system is probed once', () => {
  make('spawns', 0o777);
  const changed = () => statSync(workspace.record, { bigint: true }).ctimeNs;
  const first = problem();
  const before = changed();
  expect(problem()).toBe(first);
  expect(changed()).toBe(before);
});

test("another user's directory is refused, though we may write to it", () => {
  const path = make('./.agents');
  expect(problem(usual(uid + 1))).toBe(
    `${path} belongs to another user (uid ${uid}, and we are ${uid + 1}).`
  );
});

test("root may use directories of the workspace's owner", () => {
  const paths = [workspace.path, make('./.agents'), make('./logs')];
  // Only root can change the owner.
  const isRoot = uid === 0;
  if (isRoot) for (const path of paths) chownSync(path, 1234, 1234);
  expect(problem(usual(0))).toBe('');
  if (isRoot) chownSync(join(workspace.path, 'logs'), 4321, 4321);
  else return;
  expect(problem(usual(0))).toContain('belongs to another user (uid 4321');
});

test('a file system with one owner and one mode for all files is accepted', () => {
  const path = make('./.agents', 0o777);
  const { uid: owner, mode } = lstatSync(path);
  const reporting = (facts: { uid: number; mode: number }): OwnershipProbe => ({
    uid: uid + 1,
    probe: () => facts as Stats
  });
  expect(problem(reporting({ uid: owner, mode }))).toBe('');
  expect(problem(reporting({ uid: owner, mode: 0o40755 }))).toContain(
    'belongs'
  );
  expect(problem(reporting({ uid: owner + 1, mode }))).toContain('belongs');
  expect(problem({ uid: uid + 1, probe: () => undefined })).toContain('uid');
});

test('nothing is checked where files have no owners', () => {
  symlinkSync(workspace.home, placeOf('./logs'));
  expect(problem({ uid: undefined, probe: () => undefined })).toBe('');
});

test('the folder of a council is checked like the rest', () => {
  const file = join(workspace.home, '.agents-council', 'state.json');
  const check = () => checkState(councilPaths(file, workspace.path));
  check();
  const folder = join(file, '..');
  mkdirSync(folder, { mode: 0o755 });
  check();
  for (const name of ['history', 'texts', 'state.json.servers']) {
    symlinkSync(workspace.path, join(folder, name));
    expect(check).toThrow(`${join(folder, name)} is a symbolic link`);
    unlinkSync(join(folder, name));
  }
  check();
  chmodSync(folder, 0o777);
  expect(check).toThrow(/every user/);
});

describe('in a folder where only owners may delete their files', () => {
  let folder: string;
  let file: string;

  beforeEach(() => {
    folder = make('shared', 0o1777);
    file = join(folder, 'c.json');
  });

  const refusal = (ownership: OwnershipProbe) => {
    try {
      checkState(councilPaths(file, workspace.path), ownership);
      return '';
    } catch (error) {
      if (!(error instanceof HostError)) throw error;
      // The folder belongs to another user, so the hint must not change it.
      expect(error.hint).not.toMatch(/chmod|chown/);
      return error.message;
    }
  };

  test('a council may be held when the folder belongs to us or to root', () => {
    writeFileSync(file, '{}');
    mkdirSync(join(folder, 'history'), { mode: 0o700 });
    expect(refusal(usual(uid))).toBe('');
    chmodSync(file, 0o666);
    expect(refusal(usual(uid))).toBe('');
  });

  test('a link with one of our names is refused as a link', () => {
    symlinkSync(workspace.home, file);
    expect(refusal(usual(uid))).toContain(`${file} is a symbolic link`);
  });

  test("another user's folder is refused, with a hint to use another one", () => {
    if (uid === 0) chownSync(folder, 4321, 4321);
    expect(refusal(usual(uid + 1))).toContain(
      `${folder} belongs to another user`
    );
  });

  test.runIf(uid === 0)(
    "another user's file with one of our names is refused",
    () => {
      for (const name of [
        'c.json',
        'c.json.lock',
        'c.json.v2.bak',
        'history'
      ]) {
        const path = join(folder, name);
        if (name === 'history') mkdirSync(path);
        else writeFileSync(path, '');
        chownSync(path, 4321, 4321);
        expect(refusal(usual(1234))).toContain(
          `${path} belongs to another user (uid 4321`
        );
        rmSync(path, { recursive: true });
      }
      expect(refusal(usual(1234))).toBe('');
    }
  );
});
