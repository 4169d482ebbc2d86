import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { until } from '../../../../test/kit/judges/until.ts';
import {
  createLockContest,
  entriesIn,
  type LockContest,
  leftIn
} from '../../../../test/kit/workspaces/lock-contest.ts';
import {
  asHolder,
  lockIn,
  putLock
} from '../../../../test/kit/workspaces/lock-files.ts';
import {
  processEntry,
  thisProcess
} from '../../../adapters/child-process/process-table.ts';
import { HostError } from '../../errors.ts';
import type { FileLock } from './file-lock.ts';

let contest: LockContest;

beforeAll(async () => {
  contest = await createLockContest();
});

afterAll(() => contest.remove());

// Each test waits ten seconds, so they run concurrently.
describe.concurrent('after ten seconds a caller gets an error', () => {
  test('when a paused process holds the lock, which keeps it and continues', async ({
    expect
  }) => {
    const arena = contest.arena('paused');
    const { child, ended } = contest.start(arena, {
      program: `lock.hold(() => {
        record('in');
        process.kill(process.pid, 'SIGSTOP');
        record('out');
      }).then(() => lock.close());`
    });
    const { pid = 0 } = child;
    await until('the holder', () => existsSync(join(arena, 'record')));
    const held = textOf(arena);
    const fast = contest.start(arena, {
      me: 'fast',
      program: `Date.now = () => 4e12;
      lock.hold(() => record('in')).catch(({ code }) => record(code));`
    });
    const waiting = [lockIn(arena), lockIn(arena)];
    const errors = await Promise.all(waiting.map(errorOf));
    for (const error of errors) {
      expect(error.code).toBe('state_locked');
      expect(error.message).toContain(`Process ${pid} `);
      expect(error.message).toContain(join(arena, 'lock'));
    }
    expect(await fast.ended).toBe(0);
    expect(record(arena)).toBe('one in\nfast state_locked\n');
    expect(textOf(arena)).toBe(held);
    expect(processEntry(pid)).toBeDefined();

    child.kill('SIGCONT');
    expect(await ended).toBe(0);
    expect(record(arena)).toContain('one out\n');
    const [next] = waiting;
    await next?.hold(() => writeFileSync(join(arena, 'mine'), ''));
    expect(existsSync(join(arena, 'mine'))).toBe(true);
    for (const lock of waiting) lock.close();
    expect(leftIn(arena)).toEqual([]);
    expect(entriesIn(arena).get('one')).toBe(1);
  }, 60_000);

  test('when a process on another machine holds the lock, which stays', async ({
    expect
  }) => {
    const arena = contest.arena('elsewhere');
    const place = 'far-away its-boot its-space';
    putLock(arena, asHolder({ ...thisProcess(), place }));
    const before = textOf(arena);
    const error = await errorOf(lockIn(arena));
    expect(error.code).toBe('state_locked');
    expect(error.message).toContain(`Process ${process.pid} on far-away`);
    expect(error.message).toContain(join(arena, 'lock'));
    expect(error.hint).toContain('cannot be seen from here');
    expect(textOf(arena)).toBe(before);
  }, 60_000);
});

async function errorOf(lock: FileLock): Promise<HostError> {
  try {
    await lock.hold(() => undefined);
  } catch (error) {
    if (error instanceof HostError) return error;
    throw error;
  }
  throw new Error('It got the lock');
}

function textOf(arena: string): string {
  return readFileSync(join(arena, 'lock'), 'utf8');
}

function record(arena: string): string {
  return readFileSync(join(arena, 'record'), 'utf8');
}
