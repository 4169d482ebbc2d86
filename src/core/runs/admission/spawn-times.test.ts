import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../../test/kit/workspaces/temp-workspace.ts';
import { SpawnTimes } from './spawn-times.ts';

let workspace: TempWorkspace;
let root: string;
let file: string;
let clock: number;

beforeEach(() => {
  workspace = createTempWorkspace();
  root = workspace.record;
  file = join(root, 'counts', 'spawn-times');
  clock = 5_000_000;
});
afterEach(() => workspace.remove());

/** A new instance, as in another server. */
function times(most: number, place = 'host boot-1', now = () => clock) {
  return new SpawnTimes({ root, place, most, now });
}

describe('spawns of the last minute', () => {
  test('are counted over all servers and expire one by one', () => {
    const [one, two] = [times(3), times(3)];
    one.note(1, false);
    clock += 10_000;
    two.note(2, false);
    for (const server of [one, two]) {
      expect(server.delayFor(1, false)).toBe(50_000);
      expect(server.delayFor(2, false)).toBe(60_000);
    }
    clock += 50_000;
    expect(one.delayFor(1, false)).toBe(0);
    expect(one.delayFor(2, false)).toBe(10_000);
    clock += 10_000;
    expect(two.delayFor(3, false)).toBe(0);
  });

  test('by agents are limited to a tenth, whatever people spawn', () => {
    const server = times(25);
    expect(server.limitFor(true)).toBe(2);
    server.note(20, false);
    expect(server.delayFor(2, true)).toBe(0);
    server.note(2, true);
    expect(server.delayFor(1, true)).toBe(60_000);
    expect(server.delayFor(3, false)).toBe(0);
    expect(server.delayFor(4, false)).toBe(60_000);
    expect(times(3).limitFor(true)).toBe(1);
  });

  test('of a squad are all allowed or none', () => {
    const server = times(10);
    server.note(8, false);
    expect(server.delayFor(3, false)).toBe(60_000);
    expect(server.delayFor(2, false)).toBe(0);
    expect(server.delayFor(11, false)).toBe(Number.POSITIVE_INFINITY);
  });

  test('are neither limited nor counted when the limit is 0', () => {
    const server = times(0);
    server.note(1000, false);
    expect(server.delayFor(1000, true)).toBe(0);
    expect(statSync(file, { throwIfNoEntry: false })).toBeUndefined();
  });

  test('of an earlier boot or another machine do not count', () => {
    times(2).note(2, false);
    expect(times(2, 'host boot-2').delayFor(1, false)).toBe(0);
    expect(times(2, 'other boot-1').delayFor(1, false)).toBe(0);
    // Where boots have no names, the machine's own clock starts again.
    const rebooted = times(2, 'host boot-1', () => 60_000);
    expect(rebooted.delayFor(1, false)).toBe(0);
    expect(times(2).delayFor(1, false)).toBe(60_000);
  });
});

describe('the file', () => {
  test('stays small and keeps the last minute', () => {
    const server = times(10);
    for (let round = 0; round < 5000; round += 1) {
      server.note(1, round % 2 === 0);
      clock += 5000;
    }
    expect(statSync(file).size).toBeLessThan(110_000);
    clock -= 5000;
    // 12 in a minute.
    expect(server.delayFor(1, false)).toBeGreaterThan(0);
    clock += 10_000;
    expect(server.delayFor(1, false)).toBe(5000);
  });

  test('is readable by its owner only', () => {
    times(5).note(1, false);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test('may contain invalid lines', () => {
    const server = times(3);
    server.note(2, false);
    const own = readFileSync(file, 'latin1');
    for (const rubbish of [
      Buffer.alloc(300_000, 0xff),
      `${'9'.repeat(1000)}\n`,
      '\n\n\0\0',
      `${own.slice(0, 20)}\n`
    ]) {
      writeFileSync(file, rubbish);
      expect(server.delayFor(3, false)).toBe(0);
      writeFileSync(file, own.slice(0, 11), { flag: 'a' });
      writeFileSync(file, `\n${own}`, { flag: 'a' });
      expect(server.delayFor(2, false)).toBe(60_000);
      server.note(1, false);
      expect(server.delayFor(1, false)).toBe(60_000);
    }
  });

  test.each([
    ['a directory', (path: string) => mkdirSync(path)],
    ['a pipe', (path: string) => execFileSync('mkfifo', [path])],
    ['a link to nowhere', (path: string) => symlinkSync('/no/such', path)],
    ['a link to a file', (path: string) => symlinkSync('/etc/passwd', path)]
  ])('may be %s, which prevents no spawn', (_, make) => {
    const server = times(2);
    server.note(2, false);
    rmSync(file);
    make(file);
    expect(server.delayFor(2, false)).toBe(0);
    server.note(1, false);
  });

  test('may be impossible to create', () => {
    mkdirSync(dirname(root), { recursive: true });
    writeFileSync(root, '');
    const server = times(2);
    server.note(2, false);
    expect(server.delayFor(2, false)).toBe(0);
  });
});

test('all processes share one clock that cannot be set', () => {
  const place = 'host boot-1';
  const now = () =>
    Number(
      execFileSync(process.execPath, ['-p', 'process.hrtime.bigint()'], {
        encoding: 'utf8'
      }).replace('n', '')
    ) / 1e6;
  new SpawnTimes({ root, place, most: 5 }).note(5, false);
  const delay = times(5, place, now).delayFor(1, false);
  expect(delay).toBeGreaterThan(50_000);
  expect(delay).toBeLessThanOrEqual(60_000);
});
