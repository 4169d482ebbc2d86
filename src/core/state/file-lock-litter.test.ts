import { spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  processEntry,
  thisProcess
} from '../../adapters/child-process/process-table.ts';
import {
  asHolder,
  deadHolder,
  lockIn,
  putBeside,
  putLock
} from '../../testing/lock-files.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../testing/temp-workspace.ts';
import { until } from '../../testing/until.ts';

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(() => workspace.remove());

describe('what is beside a lock and cannot be removed', () => {
  test('keeps nobody from holding it, nor from letting it go', async () => {
    const lock = lockIn(workspace.path);
    mkdirSync(join(workspace.path, 'lock.servers', 'reap.0'), {
      recursive: true
    });
    expect(await lock.hold(() => 'done')).toBe('done');
    expect(existsSync(lock.path)).toBe(false);
    expect(() => lock.close()).not.toThrow();
  });
});

describe('a lock that is no file', () => {
  test('is an error at once, when it is a link to nowhere', async () => {
    const lock = lockIn(workspace.path);
    symlinkSync(join(workspace.path, 'nowhere'), lock.path);
    await expect(lock.hold(() => 'done')).rejects.toMatchObject({
      code: 'ELOOP'
    });
  });

  test('that takes its place while it is held does not undo what was done', async () => {
    const lock = lockIn(workspace.path);
    const work = () => {
      rmSync(lock.path);
      mkdirSync(lock.path);
      return 'done';
    };
    expect(await lock.hold(work)).toBe('done');
    rmSync(lock.path, { recursive: true });
    expect(await lock.hold(() => 'again')).toBe('again');
  });
});

test('a lock whose holder is dead while a living process is about to remove it is waited for, and nothing else stands still', async () => {
  const [dead, sleeper] = [await deadHolder(), spawn('sleep', ['100'])];
  const { pid = 0 } = sleeper;
  const { start } = await until('a process', () => processEntry(pid));
  const living = asHolder({ ...thisProcess(), pid, start });
  putLock(workspace.path, dead);
  putBeside(workspace.path, `reap.${dead.nonce}`, living);
  const lock = lockIn(workspace.path);
  let isDone = false;
  const held = lock.hold(() => {
    isDone = true;
  });
  // Time enough to find out, were it allowed.
  for (let turn = 0; turn < 20; turn += 1) await delay(5);
  expect(isDone).toBe(false);
  sleeper.kill('SIGKILL');
  await held;
  expect(isDone).toBe(true);
  lock.close();
});

test('a lock that another one took in the place of ours is left to it', async () => {
  const lock = lockIn(workspace.path);
  await lock.hold(() => {
    rmSync(lock.path);
    writeFileSync(lock.path, 'another');
    expect(lock.isHeld()).toBe(false);
  });
  expect(existsSync(lock.path)).toBe(true);
});
