import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  writeFileSync
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { supervisorArguments } from '../../../src/adapters/child-process/supervise.ts';
import {
  claimNeverStarts,
  emptyExitFile
} from '../../../src/core/runs/run-files.ts';
import { seededRandom } from '../../kit/judges/random.ts';

const random = seededRandom('claim-race');

let base: string;

beforeAll(() => {
  base = mkdtempSync(join(tmpdir(), 'troupe-claim-'));
});

afterAll(() => rmSync(base, { recursive: true, force: true }));

describe('between a supervisor that starts a run and a server that cancels it', () => {
  /** Time for the other one, at the place where it hurts. */
  const wide = (script: string) =>
    script.replace('set -C\n', 'sleep 0.06\nset -C\n');
  const looking = (script: string) =>
    script.replace('set -C\n', '[ -e "$dir/claim" ] && exit 0\nsleep 0.06\n');

  test('both believe they decided, when they look first and write then', async () => {
    const { both } = await startAndCallOff('looking', looking, (directory) => {
      const claim = join(directory, 'claim');
      if (existsSync(claim)) return false;
      writeFileSync(claim, 'never\n');
      return true;
    });
    expect(both).toBeGreaterThan(0);
  });

  test('exactly one decides with exclusive creation', async () => {
    const { both, neither, started, calledOff } = await startAndCallOff(
      'exclusive',
      wide,
      claimNeverStarts
    );
    expect({ both, neither }).toEqual({ both: 0, neither: 0 });
    // Otherwise there was no race.
    expect(Math.min(started, calledOff)).toBeGreaterThan(0);
  });
});

/** Starts supervisors and calls their runs off some milliseconds later. */
async function startAndCallOff(
  name: string,
  change: (script: string) => string,
  callOff: (directory: string) => boolean
) {
  const arena = join(base, name);
  mkdirSync(arena);
  const count = { both: 0, neither: 0, started: 0, calledOff: 0 };
  const one = async (round: number) => {
    const directory = join(arena, String(round));
    mkdirSync(directory);
    const ended = once(supervisor(directory, change), 'exit');
    await delay(random.between(0, 100));
    const off = callOff(directory);
    await ended;
    const started = existsSync(join(directory, 'started'));
    if (started) count.started += 1;
    if (off) count.calledOff += 1;
    if (started && off) count.both += 1;
    if (!started && !off) count.neither += 1;
  };
  for (let batch = 0; batch < 12; batch += 1)
    await Promise.all([0, 1, 2, 3, 4].map((index) => one(5 * batch + index)));
  return count;
}

function supervisor(directory: string, change: (script: string) => string) {
  for (const name of ['prompt.txt', 'stdout', 'stderr', 'events.jsonl'])
    writeFileSync(join(directory, name), '');
  writeFileSync(join(directory, 'exit'), emptyExitFile);
  const [, script = '', ...rest] = supervisorArguments(
    {
      agentId: '00000000',
      directory,
      command: '/bin/sh',
      args: ['-c', 'echo yes >"$1"/started', 'agent', directory],
      cwd: directory,
      environment: {},
      timeoutSeconds: 60,
      idleTimeoutSeconds: 0,
      outputLimitBytes: 0,
      stopWithUs: false
    },
    '/nowhere'
  );
  const changed = change(script);
  expect(changed).not.toBe(script);
  const out = openSync(join(directory, 'stdout'), 'a');
  return spawn('/bin/sh', ['-c', changed, ...rest], {
    detached: true,
    stdio: ['ignore', out, out]
  });
}
