import { readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../test/kit/workspaces/temp-workspace.ts';
import type { ProcessIdentity } from '../processes/process-identity.ts';

const self: ProcessIdentity = { pid: 1, start: '1', place: 'here 1' };

let workspace: TempWorkspace;
let directory: string;
let seconds: number;

beforeEach(() => {
  workspace = createTempWorkspace();
  directory = dirname(workspace.write('agent/alive', ''));
  seconds = 5000;
  vi.spyOn(process, 'hrtime').mockImplementation(
    Object.assign((): [number, number] => [seconds, 0], {
      bigint: process.hrtime.bigint
    })
  );
});

afterEach(() => {
  vi.restoreAllMocks();
  workspace.remove();
});

/** Functions of a process that has just started. */
async function newProcess(place = self.place) {
  vi.resetModules();
  const { isSilent, touchAlive } = await import('./sign-of-life.ts');
  return {
    touchAlive: () => touchAlive(directory),
    isSilentAfter: (times: number, stepSeconds: number) => {
      const seen = Array.from({ length: times }, () => {
        seconds += stepSeconds;
        return isSilent(directory, { ...self, place });
      });
      return seen.at(-1);
    }
  };
}

test('an agent without a heartbeat counts as silent within two minutes', async () => {
  const { isSilentAfter } = await newProcess();
  expect(isSilentAfter(95, 1)).toBe(false);
  expect(isSilentAfter(20, 1)).toBe(true);
});

test('each heartbeat gives an agent another two minutes', async () => {
  const { isSilentAfter, touchAlive } = await newProcess();
  isSilentAfter(95, 1);
  utimesSync(join(directory, 'alive'), 1, 1);
  isSilentAfter(1, 1);
  touchAlive();
  expect(isSilentAfter(95, 1)).toBe(false);
  expect(isSilentAfter(20, 1)).toBe(true);
});

test('output counts as a heartbeat when the watchdog was killed', async () => {
  const { isSilentAfter } = await newProcess();
  isSilentAfter(95, 1);
  writeFileSync(join(directory, 'stdout'), 'x');
  expect(isSilentAfter(95, 1)).toBe(false);
});

test('time between two distant readings counts little, as the machine may have slept', async () => {
  const { isSilentAfter } = await newProcess();
  isSilentAfter(1, 1);
  expect(isSilentAfter(10, 3600)).toBe(false);
});

test('the readings of commands that read once add up', async () => {
  expect((await newProcess()).isSilentAfter(1, 1)).toBe(false);
  expect((await newProcess()).isSilentAfter(1, 60)).toBe(false);
  expect((await newProcess()).isSilentAfter(1, 60)).toBe(true);
});

test('a note from another place or about another heartbeat does not count', async () => {
  (await newProcess()).isSilentAfter(1, 1);
  expect((await newProcess('here 2')).isSilentAfter(1, 120)).toBe(false);
  writeFileSync(join(directory, 'stderr'), 'x');
  expect((await newProcess('here 2')).isSilentAfter(1, 120)).toBe(false);
  expect(readFileSync(join(directory, 'silent'), 'utf8')).toContain('here 2');
});

test('an invalid note does not count', async () => {
  for (const text of ['', 'x', 'here 1\n', `here 1\n- - - -\n`]) {
    writeFileSync(join(directory, 'silent'), text);
    expect((await newProcess()).isSilentAfter(1, 120)).toBe(false);
  }
});
