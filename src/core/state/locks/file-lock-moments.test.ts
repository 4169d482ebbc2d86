import {
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  justBefore,
  watchFiles
} from '../../../../test/kit/judges/file-operations.ts';
import { until } from '../../../../test/kit/judges/until.ts';
import {
  asHolder,
  deadHolder,
  type Holder,
  lockIn,
  putBeside,
  putLock
} from '../../../../test/kit/workspaces/lock-files.ts';
import { createTempWorkspace } from '../../../../test/kit/workspaces/temp-workspace.ts';
import { thisProcess } from '../../../adapters/child-process/process-table.ts';
import type { ProcessIdentity } from '../../processes/process-identity.ts';
import { FileLock } from './file-lock.ts';
import { findHolder } from './lock-holder.ts';

vi.mock('node:fs', async () => {
  const { watchedFs } = await import(
    '../../../../test/kit/judges/file-operations.ts'
  );
  return watchedFs();
});

let directory: string;
let path: string;
let lock: FileLock;

beforeEach(() => {
  watchFiles();
  const workspace = createTempWorkspace();
  onTestFinished(workspace.remove);
  directory = workspace.path;
  path = join(directory, 'lock');
  lock = newLock();
});

function newLock(): FileLock {
  const one = lockIn(directory);
  onTestFinished(() => one.close());
  return one;
}

const living = () => asHolder(thisProcess());
const nextTo = () => readdirSync(`${path}.servers`);
const claims = () => nextTo().filter((name) => name.startsWith('reap.'));
const cards = () => nextTo().filter((name) => /^\d+\.[0-9a-f]{16}$/.test(name));

function failOnce(kind: 'remove' | 'link', end: string): void {
  justBefore(kind, end, () => {
    throw Object.assign(new Error('refused'), { code: 'EPERM' });
  });
}

/** Another process removes the lock and acquires it. */
function passTo(holder: Holder): void {
  const next = `${path}.next`;
  writeFileSync(next, `${JSON.stringify(holder)}\n`);
  // A lock that is written in place could keep its change time.
  renameSync(next, path);
}

describe('a lock that another process acquires before it is taken over', () => {
  test('stays, when its holder was dead at the first look', async () => {
    const [dead, next] = [await deadHolder(), living()];
    putLock(directory, dead);
    let isPassed = false;
    justBefore('link', `reap.${dead.nonce}`, () => {
      passTo(next);
      isPassed = true;
    });
    let isDone = false;
    const held = lock.hold(() => {
      isDone = true;
    });
    await until('the takeover', () => isPassed || undefined);
    await turn();
    expect(findHolder(path)?.name).toBe(next.nonce);
    expect([isDone, lock.takeovers, claims()]).toEqual([false, 0, []]);
    rmSync(path);
    await held;
    expect([isDone, lock.takeovers]).toEqual([true, 0]);
  });

  test('stays, when a foreign program had left it behind', async () => {
    writeFileSync(path, '');
    utimesSync(path, 1, 1);
    const next = living();
    let isPassed = false;
    justBefore('link', `reap.${findHolder(path)?.name}`, () => {
      passTo(next);
      isPassed = true;
    });
    const held = lock.hold(() => undefined);
    await until('the takeover', () => isPassed || undefined);
    await turn();
    expect(findHolder(path)?.name).toBe(next.nonce);
    rmSync(path);
    await held;
    expect(lock.takeovers).toBe(0);
  });

  test('stays, when a process that claimed the removal has died', async () => {
    const [dead, owner, next] = [
      await deadHolder(),
      await deadHolder(),
      living()
    ];
    putLock(directory, dead);
    putBeside(directory, `reap.${dead.nonce}`, owner);
    let isPassed = false;
    justBefore('link', `reap.${dead.nonce}.${owner.nonce}`, () => {
      passTo(next);
      isPassed = true;
    });
    const held = lock.hold(() => undefined);
    await until('the takeover', () => isPassed || undefined);
    await turn();
    expect(findHolder(path)?.name).toBe(next.nonce);
    rmSync(path);
    await held;
    expect(lock.takeovers).toBe(0);
  });
});

describe("when a dead holder's lock cannot be removed,", () => {
  test('the call fails, and another process may try', async () => {
    putLock(directory, await deadHolder());
    failOnce('remove', '/lock');
    await expect(lock.hold(() => undefined)).rejects.toThrow('refused');
    expect(lock.takeovers).toBe(0);
    expect(claims()).toEqual([]);
    const other = newLock();
    expect(await other.hold(() => 'done')).toBe('done');
    expect(other.takeovers).toBe(1);
  });

  test('the process that still owns the claim may try again', async () => {
    const dead = await deadHolder();
    putLock(directory, dead);
    failOnce('remove', '/lock');
    failOnce('remove', `reap.${dead.nonce}`);
    await expect(lock.hold(() => undefined)).rejects.toThrow('refused');
    expect(claims()).toEqual([`reap.${dead.nonce}`]);
    expect(await lock.hold(() => 'done')).toBe('done');
    expect([lock.takeovers, claims()]).toEqual([1, []]);
  });
});

describe('leftovers next to a lock', () => {
  test('are removed only if no lock needs them', async () => {
    await lock.hold(() => undefined);
    const other = newLock();
    await other.hold(() => undefined);
    const [held, gone] = [await deadHolder(), await deadHolder()];
    const [claimant, killed] = [living(), await deadHolder()];
    putLock(directory, held);
    putBeside(directory, `reap.${held.nonce}`, claimant);
    putBeside(directory, `reap.${gone.nonce}`, claimant);
    putBeside(directory, `${killed.pid}.${killed.nonce}`, killed);
    putBeside(directory, 'mine', killed);
    const before = cards();
    other.close();
    expect(claims()).toEqual([`reap.${held.nonce}`]);
    // Of the two processes that live, one has closed its lock.
    expect(before).toHaveLength(3);
    expect(cards()).toHaveLength(1);
    expect(nextTo()).toContain('mine');
  });

  test('do not include a claim of a lock that is left during the removal', async () => {
    await lock.hold(() => undefined);
    const dead = await deadHolder();
    // Temporary files are listed first.
    justBefore('list', 'lock.servers', () => undefined);
    justBefore('list', 'lock.servers', () => {
      putLock(directory, dead);
      putBeside(directory, `reap.${dead.nonce}`, living());
    });
    lock.close();
    expect(claims()).toEqual([`reap.${dead.nonce}`]);
  });

  test('are removed by the first call of a process, and by its end', async () => {
    const killed = await deadHolder();
    const leave = () =>
      putBeside(directory, `${killed.pid}.${killed.nonce}`, killed);
    leave();
    await lock.hold(() => undefined);
    expect(cards()).toHaveLength(1);
    leave();
    await lock.hold(() => undefined);
    expect(cards()).toHaveLength(2);
    lock.close();
    expect(nextTo().filter((name) => name !== '.gitignore')).toEqual([]);
  });
});

describe('an identity file that is removed just before it is linked', () => {
  const removeIdentity = (times: number) => {
    const [name = ''] = cards();
    for (let time = 0; time < times; time += 1)
      justBefore('link', '/lock', () => rmSync(join(`${path}.servers`, name)));
  };

  test('is written again', async () => {
    await lock.hold(() => undefined);
    removeIdentity(3);
    expect(await lock.hold(() => lock.isHeld())).toBe(true);
  });

  test('is an error in the end', async () => {
    await lock.hold(() => undefined);
    removeIdentity(4);
    await expect(lock.hold(() => undefined)).rejects.toMatchObject({
      code: 'ENOENT'
    });
  });
});

test('a lock that cannot be released does not undo the work, and the next call releases it', async () => {
  await lock.hold(() => undefined);
  failOnce('remove', '/lock');
  expect(await lock.hold(() => 'done')).toBe('done');
  expect(existsSync(path)).toBe(true);
  expect(await lock.hold(() => lock.isHeld())).toBe(true);
  expect(existsSync(path)).toBe(false);
});

test('a lock is released when the work fails', async () => {
  const fail = () => {
    throw new Error('no room');
  };
  await expect(lock.hold(fail)).rejects.toThrow('no room');
  expect(existsSync(path)).toBe(false);
});

test.each([
  ['was removed by hand', () => rmSync(path)],
  ['has another holder now', () => passTo(living())]
])('a process must not write when the lock %s', async (_title, change) => {
  const work = () => {
    expect(() => lock.checkHeld()).not.toThrow();
    change();
    lock.checkHeld();
  };
  await expect(lock.hold(work)).rejects.toMatchObject({
    code: 'state_locked',
    message: expect.stringContaining(path)
  });
});

describe('a caller that waits for a lock', () => {
  /** Six seconds pass before each look at the lock. */
  function atEachLook(act: (look: number) => void): void {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => {
      vi.useRealTimers();
    });
    const watch = (look: number) =>
      justBefore('open', '/lock', () => {
        vi.advanceTimersByTime(6000);
        act(look);
        watch(look + 1);
      });
    watch(1);
  }

  test('waits for each holder in turn', async () => {
    passTo(living());
    atEachLook((look) => {
      if (look < 7) passTo(living());
      else rmSync(path, { force: true });
    });
    expect(await lock.hold(() => 'done')).toBe('done');
  });

  test('gets an error after 45 seconds, however many hold it', async () => {
    passTo(living());
    atEachLook((look) => {
      if (look < 20) passTo(living());
      else rmSync(path, { force: true });
    });
    await expect(lock.hold(() => 'done')).rejects.toMatchObject({
      code: 'state_locked',
      message: `${path} was held by one process after the other for 45 s.`
    });
    expect(existsSync(path)).toBe(true);
  });

  test('gets an error after ten seconds, when one process holds it', async () => {
    const holder = living();
    passTo(holder);
    const before = readFileSync(path, 'utf8');
    atEachLook((look) => {
      if (look > 20) rmSync(path, { force: true });
    });
    await expect(lock.hold(() => 'done')).rejects.toMatchObject({
      code: 'state_locked',
      message: expect.stringContaining(`has held ${path} for 12 s`)
    });
    expect(readFileSync(path, 'utf8')).toBe(before);
  });

  test('judges a holder by its process, and never by its age', async () => {
    const seen: number[] = [];
    const processes = {
      self: thisProcess(),
      liveness: ({ pid }: ProcessIdentity) => {
        seen.push(pid);
        return seen.length < 2 ? ('unknown' as const) : ('dead' as const);
      }
    };
    const holder = { ...living(), pid: 4_000_000 };
    passTo(holder);
    utimesSync(path, 1, 1);
    const own = new FileLock(path, `${path}.servers`, processes);
    onTestFinished(() => own.close());
    await own.hold(() => undefined);
    expect([own.takeovers, seen.slice(0, 2)]).toEqual([
      1,
      [4_000_000, 4_000_000]
    ]);
  });
});
