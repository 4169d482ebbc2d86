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
import { until } from '../../../../test/kit/judges/until.ts';
import {
  asHolder,
  deadHolder,
  lockIn,
  putBeside,
  putLock
} from '../../../../test/kit/workspaces/lock-files.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../../test/kit/workspaces/temp-workspace.ts';
import {
  processEntry,
  thisProcess
} from '../../../adapters/child-process/process-table.ts';

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(() => workspace.remove());

describe('files next to a lock that cannot be removed', () => {
  test('do not prevent a process from acquiring or releasing it', async () => {
    const lock = lockIn(workspace.path);
    mkdirSync(join(workspace.path, 'lock.servers', 'reap.0'), {
      recursive: true
    });
    expect(await lock.hold(() => 'done')).toBe('done');
    expect(existsSync(lock.path)).toBe(false);
    expect(() => lock.close()).not.toThrow();
  });
});

describe('a lock that is not a regular file', () => {
  test('is an error at once when it is a dangling link', async () => {
    const lock = lockIn(workspace.path);
    symlinkSync(join(workspace.path, 'nowhere'), lock.path);
    await expect(lock.hold(() => 'done')).rejects.toMatchObject({
      code: 'ELOOP'
    });
  });

  test('does not undo the work when it replaces the lock meanwhile', async () => {
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

test("a process waits for a dead holder's lock that a living process is removing, without blocking the event loop", async () => {
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
  // Long enough to take the lock over, if that were allowed.
  for (let turn = 0; turn < 20; turn += 1) await delay(5);
  expect(isDone).toBe(false);
  sleeper.kill('SIGKILL');
  await held;
  expect(isDone).toBe(true);
  lock.close();
});

test('a lock that another process has replaced is not released', async () => {
  const lock = lockIn(workspace.path);
  await lock.hold(() => {
    rmSync(lock.path);
    writeFileSync(lock.path, 'another');
    expect(lock.isHeld()).toBe(false);
  });
  expect(existsSync(lock.path)).toBe(true);
});
