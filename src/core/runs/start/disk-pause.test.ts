import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import {
  countOf,
  justBefore,
  watchFiles
} from '../../../../test/kit/judges/file-operations.ts';
import { DiskPause } from './disk-pause.ts';

vi.mock('node:fs', async () => {
  const judge = '../../../../test/kit/judges/file-operations.ts';
  return (await import(judge)).watchedFs();
});

let directory: string;
let pause: DiskPause;
let rooms: number;
let problems: string[];

beforeEach(() => {
  watchFiles();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  directory = mkdtempSync(join(tmpdir(), 'troupe-pause-'));
  rooms = 0;
  problems = [];
  pause = new DiskPause({
    directory,
    onRoom: () => {
      rooms += 1;
    },
    onProblem: (problem) => problems.push(String(problem))
  });
});

afterEach(() => {
  vi.useRealTimers();
  rmSync(directory, { recursive: true });
});

const full = Object.assign(new Error('no space'), { code: 'ENOSPC' });

/** Refuses each file that is written from now on. */
function refuse(): { tries: number; isOn: boolean } {
  const refusal = { tries: 0, isOn: true };
  const again = () =>
    justBefore('write', '.tmp', () => {
      if (!refusal.isOn) return;
      refusal.tries += 1;
      again();
      throw full;
    });
  again();
  return refusal;
}

test('a disk is tried after pauses that grow, up to five seconds', () => {
  const refusal = refuse();
  pause.begin(full);
  vi.advanceTimersByTime(199);
  expect(refusal.tries).toBe(0);
  vi.advanceTimersByTime(1 + 400 + 800);
  expect(refusal.tries).toBe(3);
  vi.advanceTimersByTime(60_000);
  expect(refusal.tries).toBeGreaterThan(12);
  expect(refusal.tries).toBeLessThan(17);
  expect([pause.isOn, rooms]).toEqual([true, 0]);
});

test('a pause ends when the disk takes a file, which is removed', () => {
  const refusal = refuse();
  pause.begin(full);
  pause.begin(full);
  vi.advanceTimersByTime(1000);
  refusal.isOn = false;
  expect(pause.isOn).toBe(true);
  vi.advanceTimersByTime(5000);
  expect([pause.isOn, rooms]).toEqual([false, 1]);
  expect(readdirSync(directory)).toEqual([]);
  vi.advanceTimersByTime(60_000);
  expect(rooms).toBe(1);
});

test('pauses grow until an agent could start, and are reported once', () => {
  pause.begin(full);
  vi.advanceTimersByTime(200);
  pause.begin(full);
  vi.advanceTimersByTime(399);
  expect(rooms).toBe(1);
  vi.advanceTimersByTime(1);
  expect(rooms).toBe(2);
  expect(problems).toHaveLength(1);
  expect(problems[0]).toContain(directory);
  pause.reset();
  pause.begin(full);
  vi.advanceTimersByTime(200);
  expect(rooms).toBe(3);
  expect(problems).toHaveLength(2);
});

test('a disk that is full again later is reported again, and tried soon', () => {
  // An agent that could start meanwhile may be at work for hours.
  for (const count of [1, 2]) {
    pause.begin(full);
    vi.advanceTimersByTime(200);
    expect([rooms, problems.length]).toEqual([count, count]);
    vi.advanceTimersByTime(60_001);
  }
});

test('no pause begins after the end, and the last one is over', () => {
  const tries = countOf('write', '.tmp');
  pause.begin(full);
  pause.end();
  pause.begin(full);
  vi.advanceTimersByTime(60_000);
  expect([pause.isOn, rooms, tries.times]).toEqual([false, 0, 0]);
});

test('a record that was removed is no reason to wait', () => {
  pause.begin(full);
  rmSync(directory, { recursive: true });
  vi.advanceTimersByTime(200);
  expect([rooms, existsSync(directory)]).toEqual([1, false]);
  mkdirSync(directory);
});
