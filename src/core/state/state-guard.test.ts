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
} from '../../testing/temp-workspace.ts';
import { HostError } from '../errors.ts';
import {
  checkState,
  councilPlaces,
  recordFolders,
  type Surveyor,
  workspacePlaces
} from './state-guard.ts';

const shared = ['agents', 'council', 'run', 'worktrees'];

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(() => workspace.remove());

const uid = process.geteuid?.() ?? 0;
/** A file system that tells owners and modes as they are. */
const usual = (self: number): Surveyor => ({
  uid: self,
  probe: () => ({ uid: self, mode: 0o40700 }) as Stats
});

function problem(surveyor?: Surveyor): string {
  try {
    checkState(workspacePlaces(workspace.paths), surveyor);
    return '';
  } catch (error) {
    expect(error).toBeInstanceOf(HostError);
    if (!(error instanceof HostError)) throw error;
    expect(error.code).toBe('state_unsafe');
    expect(error.hint).toMatch(/^Nothing was written\. /);
    return error.message;
  }
}

/** `spawns` lies in the record, `./logs` in the workspace. */
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

test('what is not there yet, or is ours, may be used', () => {
  expect(problem()).toBe('');
  for (const folder of recordFolders) make(folder);
  for (const folder of shared) make(`./.agents/${folder}`);
  make('./logs/archive');
  writeFileSync(join(workspace.record, 'iac.jsonl'), '');
  expect(problem()).toBe('');
});

test('no part of it may be a link, not even one to nowhere', () => {
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

test('a file in the place of a directory, and the reverse, is left to who writes', () => {
  writeFileSync(join(workspace.path, 'logs'), '');
  make('counts/sizes');
  expect(problem()).toBe('');
});

test('a journal is no pipe, which would hold up who writes', () => {
  make('');
  const path = join(workspace.record, 'iac.jsonl');
  execFileSync('mkfifo', [path]);
  expect(problem()).toBe(`${path} is no regular file.`);
});

test('everybody may not write it, a group may', () => {
  for (const mode of [0o755, 0o775, 0o770]) {
    make('spawns', mode);
    expect(problem()).toBe('');
  }
  const path = make('spawns', 0o777);
  expect(problem()).toBe(
    `${path} can be changed by everybody on this machine.`
  );
  // To see what the file system tells of a new one, one was made.
  expect(readdirSync(workspace.record)).toEqual(['spawns']);
  // Not even where only owners may take files away.
  chmodSync(path, 0o1777);
  expect(problem()).toContain('everybody');
});

test('what a file system tells is asked once', () => {
  make('spawns', 0o777);
  const changed = () => statSync(workspace.record, { bigint: true }).ctimeNs;
  const first = problem();
  const before = changed();
  expect(problem()).toBe(first);
  expect(changed()).toBe(before);
});

test("another user's folder is not ours, though we may write there", () => {
  const path = make('./.agents');
  expect(problem(usual(uid + 1))).toBe(
    `${path} belongs to another user (uid ${uid}, and we are ${uid + 1}).`
  );
});

test("root may use what belongs to the workspace's owner", () => {
  const paths = [workspace.path, make('./.agents'), make('./logs')];
  // Who is root here may make them somebody's; others are somebody.
  const isRoot = uid === 0;
  if (isRoot) for (const path of paths) chownSync(path, 1234, 1234);
  expect(problem(usual(0))).toBe('');
  if (isRoot) chownSync(join(workspace.path, 'logs'), 4321, 4321);
  else return;
  expect(problem(usual(0))).toContain('belongs to another user (uid 4321');
});

test('a file system with one owner and one mode for all says nothing', () => {
  const path = make('./.agents', 0o777);
  const { uid: owner, mode } = lstatSync(path);
  const told = (facts: { uid: number; mode: number }): Surveyor => ({
    uid: uid + 1,
    probe: () => facts as Stats
  });
  expect(problem(told({ uid: owner, mode }))).toBe('');
  expect(problem(told({ uid: owner, mode: 0o40755 }))).toContain('belongs');
  expect(problem(told({ uid: owner + 1, mode }))).toContain('belongs');
  expect(problem({ uid: uid + 1, probe: () => undefined })).toContain('uid');
});

test('where files have no owners nothing is asked of them', () => {
  symlinkSync(workspace.home, placeOf('./logs'));
  expect(problem({ uid: undefined, probe: () => undefined })).toBe('');
});

test('the folder of a council is looked at like the rest', () => {
  const file = join(workspace.home, '.agents-council', 'state.json');
  const check = () => checkState(councilPlaces(file, workspace.path));
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
  expect(check).toThrow(/everybody/);
});

describe('in a folder where only owners take away what they added', () => {
  let folder: string;
  let file: string;

  beforeEach(() => {
    folder = make('shared', 0o1777);
    file = join(folder, 'c.json');
  });

  const refusal = (surveyor: Surveyor) => {
    try {
      checkState(councilPlaces(file, workspace.path), surveyor);
      return '';
    } catch (error) {
      if (!(error instanceof HostError)) throw error;
      // The folder is not ours to change.
      expect(error.hint).not.toMatch(/chmod|chown/);
      return error.message;
    }
  };

  test("a council may be held, be the folder ours or root's", () => {
    writeFileSync(file, '{}');
    mkdirSync(join(folder, 'history'), { mode: 0o700 });
    expect(refusal(usual(uid))).toBe('');
    chmodSync(file, 0o666);
    expect(refusal(usual(uid))).toBe('');
  });

  test("another user's folder is refused, with another way out", () => {
    if (uid === 0) chownSync(folder, 4321, 4321);
    expect(refusal(usual(uid + 1))).toContain(
      `${folder} belongs to another user`
    );
  });

  test.runIf(uid === 0)("so is another user's file by a name of ours", () => {
    for (const name of ['c.json', 'c.json.lock', 'c.json.v2.bak', 'history']) {
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
  });
});
