import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { until } from '../../../test/kit/judges/until.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../test/kit/workspaces/temp-workspace.ts';
import { hasProc, processEntry } from './process-table.ts';
import { ancestorsOf } from './processes.ts';

let workspace: TempWorkspace;
let top: ChildProcess | undefined;
let file: string;

beforeEach(() => {
  workspace = createTempWorkspace();
  file = join(workspace.path, 'pid');
});

afterEach(async () => {
  vi.unstubAllEnvs();
  if (top?.pid) process.kill(-top.pid, 'SIGKILL');
  if (top && top.exitCode === null && top.signalCode === null)
    await once(top, 'exit');
  top = undefined;
  workspace.remove();
});

const own = 'echo $$ >"$1.new"; mv "$1.new" "$1"; exec sleep 60';

/** Starts a process below one with our marks; returns both numbers. */
async function below(script: string): Promise<[top: number, low: number]> {
  top = spawn('sh', ['-c', script, 'sh', file, own], {
    detached: true,
    stdio: 'ignore',
    env: {
      PATH: process.env.PATH,
      TROUPE_AGENT_ID: '0000000a',
      TROUPE_AGENT_DIR: '/project/a b',
      TROUPE_DEPTH: '1'
    }
  });
  const low = await until('it', () => {
    try {
      return Number(readFileSync(file, 'utf8')) || undefined;
    } catch {
      return undefined;
    }
  });
  return [top.pid ?? 0, low];
}

const bare = 'env -i PATH="$PATH"';

describe.each([
  ['/proc', true],
  ['ps', false]
])('ancestors by %s', (_, useProc) => {
  const isPossible = !useProc || hasProc();

  test.skipIf(!isPossible).each([
    ['its parent', `${bare} sh -c "$2" sh "$1"; :`],
    ['one above that', `${bare} sh -c 'sh -c "$2" sh "$1"; :' sh "$1" "$2"; :`],
    [
      'the leader of its session',
      `(${bare} sh -c "$2" sh "$1" &); exec sleep 60`
    ]
  ])('include %s with its marks', async (_, script) => {
    const [high, low] = await below(script);
    const found = ancestorsOf(low, useProc);
    expect(found.map(({ identity }) => identity.pid)).not.toContain(low);
    const its = found.find(({ identity }) => identity.pid === high);
    expect(its?.marks).toEqual({
      agentId: '0000000a',
      directory: '/project/a b',
      depth: '1'
    });
    expect(its?.identity.start).toBe(processEntry(high, useProc)?.start);
  });
});

test('start with the nearest', async () => {
  const [high, low] = await below(`${bare} sh -c "$2" sh "$1"; :`);
  const pids = ancestorsOf(low).map(({ identity }) => identity.pid);
  expect(pids[0]).toBe(high);
  expect(pids).toContain(process.pid);
  expect(pids).not.toContain(1);
  expect(new Set(pids).size).toBe(pids.length);
});

test('include the ended leader of a session', async () => {
  const [high, low] = await below(`(${bare} sh -c "$2" sh "$1" &)`);
  await until('the end', () => !processEntry(high));
  const gone = ancestorsOf(low).find(({ identity }) => identity.pid === high);
  expect(gone?.identity.start).toBe('');
});

test('are read without another program where there is /proc', () => {
  const seen = ancestorsOf();
  vi.stubEnv('PATH', '/nonexistent');
  if (hasProc()) expect(ancestorsOf()).toEqual(seen);
  expect(seen.length).toBeGreaterThan(0);
});
