import { type ChildProcess, spawn } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  afterAll,
  afterEach,
  beforeAll,
  describe,
  expect,
  test,
  vi
} from 'vitest';
import { atNextRead } from '../../../test/kit/judges/next-read.ts';
import { until } from '../../../test/kit/judges/until.ts';
import { needing } from '../../../test/kit/workspaces/needs.ts';
import { locate } from './locate.ts';
import {
  hasProc,
  markerIn,
  processEntry,
  processEnvironments,
  processTable,
  read,
  thisProcess
} from './process-table.ts';
import { createProcesses } from './processes.ts';

const endFirstThread = `
import ctypes, threading, time
threading.Thread(target=lambda: time.sleep(100)).start()
ctypes.CDLL(None).pthread_exit(None)`;

let folder: string;
const started: ChildProcess[] = [];

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-table-'));
});

afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
});

afterAll(() => rmSync(folder, { recursive: true }));

describe.each([
  ['/proc', hasProc()],
  ['ps', false]
])('the process table from %s', (source, useProc) => {
  const able = source === 'ps' ? locate('ps') !== undefined : hasProc();
  const testHere = needing(source, able);

  testHere('shows parents, groups and their leaders', async () => {
    const leader = start('sh', ['-c', 'sleep 100 & wait'], true);
    const child = await childOf(leader);
    expect(entryOf(leader)).toMatchObject({
      parent: process.pid,
      group: leader,
      session: leader,
      zombie: false
    });
    expect(entryOf(child)).toMatchObject({ parent: leader, group: leader });
  });

  testHere('distinguishes zombies from living processes', async () => {
    const parent = start('sh', ['-c', 'true & exec sleep 100']);
    const zombie = await until('a zombie', () =>
      processTable(useProc).find(
        (entry) => entry.parent === parent && entry.zombie
      )
    );
    expect(processEntry(zombie.pid, useProc)?.zombie).toBe(true);
    expect(processEntry(parent, useProc)?.zombie).toBe(false);
  });

  needing(
    `${source} and python3`,
    able && process.platform === 'linux' && locate('python3') !== undefined
  )('knows that a process outlives its first thread', async () => {
    const pid = start('python3', ['-c', endFirstThread], false, {
      PATH: process.env.PATH ?? '',
      TROUPE_AGENT_DIR: '/a/x'
    });
    await until('the end of the thread', () =>
      /^\d+ \(.*\) Z /.test(read(`/proc/${pid}/stat`) ?? '')
    );
    expect(processEntry(pid, useProc)?.zombie).toBe(false);
    if (useProc) {
      const text = processEnvironments([pid], true).get(pid);
      expect(markerIn(text)).toBe('/a/x');
    }
  });

  testHere('reads entries of programs with unusual names', () => {
    const path = join(folder, `a) S 1 (b ${source.replace('/', '')}`);
    copyFileSync(locate('sleep') ?? '', path);
    const pid = start(path, ['100']);
    expect(entryOf(pid)).toMatchObject({ pid, parent: process.pid });
  });

  testHere('returns the same entry for one process as for all', () => {
    const pid = start('sleep', ['100']);
    expect(processEntry(pid, useProc)).toEqual(entryOf(pid));
    expect(entryOf(pid)?.start).not.toBe('');
  });

  testHere('reports the same start in every time zone', () => {
    const pid = start('sleep', ['100']);
    const startIn = (zone: string) => {
      vi.stubEnv('TZ', zone);
      return processEntry(pid, useProc)?.start;
    };
    expect(startIn('Asia/Tokyo')).toBe(startIn('America/New_York'));
    vi.unstubAllEnvs();
  });

  testHere('has no entry for an unused number', () => {
    expect(processEntry(2 ** 22 + 1, useProc)).toBeUndefined();
  });

  testHere('reads environments whose values contain spaces', async () => {
    const pid = start('sleep', ['100'], false, {
      TROUPE_AGENT_DIR: '/a folder/x',
      ZZZ: '1'
    });
    const lines = await until('its environment', () => {
      const text = processEnvironments([pid], useProc).get(pid);
      return text?.includes('ZZZ') ? text.split('\0') : undefined;
    });
    expect(lines).toContain('TROUPE_AGENT_DIR=/a folder/x');
  });

  function entryOf(pid: number) {
    return processTable(useProc).find((entry) => entry.pid === pid);
  }

  function childOf(pid: number): Promise<number> {
    return until(
      'a child',
      () => processTable(useProc).find(({ parent }) => parent === pid)?.pid
    );
  }
});

describe('liveness', () => {
  const { liveness } = createProcesses('');
  const self = thisProcess();
  const elsewhere = (place: string) => liveness({ ...self, place });
  const [host = '', boot = '', space = ''] = self.place.split(' ');

  test('this process is alive, and another start with its number is not', () => {
    expect(liveness(self)).toBe('alive');
    expect(liveness({ ...self, start: 'earlier' })).toBe('dead');
  });

  test('a process from before a reboot is dead', () => {
    expect(elsewhere(`${host} other-boot ${space}`)).toBe('dead');
  });

  test('a process of another machine or container is unknown', () => {
    expect(elsewhere(`other-host ${boot} ${space}`)).toBe('unknown');
    expect(elsewhere(`${host} ${boot} other-space`)).toBe('unknown');
  });

  test('a zombie is not alive', async () => {
    const parent = start('sh', ['-c', 'true & exec sleep 100']);
    const { pid, start: since } = await until('a zombie', () =>
      processTable().find((entry) => entry.parent === parent && entry.zombie)
    );
    expect(liveness({ pid, start: since, place: self.place })).toBe('dead');
  });
});

function start(
  command: string,
  args: string[],
  detached = false,
  env: Record<string, string> = {}
): number {
  const child = spawn(command, args, {
    detached,
    stdio: 'ignore',
    env: { PATH: process.env.PATH, ...env }
  });
  started.push(child);
  return child.pid ?? 0;
}

needing('/proc', hasProc())(
  'a thread of the kernel is distinguished from a program',
  () => {
    const line =
      '10 (kworker/0:0H-ev) I 2 0 0 0 -1 69238880 0 0 0 0 0 0 0 0 0 -20 1 0 12 0';
    atNextRead('/proc/10/stat', () => line);
    const thread = { pid: 10, parent: 2, kernel: true, start: '12' };
    expect(processEntry(10, true)).toMatchObject(thread);
    expect(processEntry(process.pid, true)?.kernel).toBe(false);
  }
);

test('a file of a process that cannot be read now is not taken for one of no process', () => {
  expect(read('/proc/0/stat')).toBeUndefined();
  // As a lack of descriptors does, which says nothing about the process.
  expect(() => read(folder)).toThrow('EISDIR');
});
