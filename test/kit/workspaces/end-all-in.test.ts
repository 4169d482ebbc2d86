import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { endAllIn, processesIn } from './end-all-in.ts';
import { gitIn } from './git-workspace.ts';

const place = join(tmpdir(), 'place');

/** Elsewhere only the directory is removed. */
const hasProc = existsSync('/proc/self/environ');

test.runIf(hasProc).each([
  ['its working directory', { cwd: place }, []],
  ['its environment', { env: { HOME: place } }, []],
  ['its command line', {}, [place]]
])('a process is killed with the directory in %s', async (_, where, args) => {
  mkdirSync(place);
  const words = ['-e', 'setInterval(() => undefined, 1000)', ...args];
  const child = spawn(process.execPath, words, {
    cwd: '/',
    env: {},
    detached: true,
    stdio: 'ignore',
    ...where
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  const exited = once(child, 'exit');
  await once(child, 'spawn');
  expect(processesIn(place)).toEqual([child.pid]);
  await endAllIn(place);
  expect(await exited).toEqual([null, 'SIGKILL']);
  expect(processesIn(place)).toEqual([]);
  expect(existsSync(place)).toBe(false);
});

test('tests run below a repository, in a path with a blank and an accent', () => {
  expect(tmpdir()).toMatch(/ .*é|é.* /);
  expect(existsSync(join(tmpdir(), '.git', 'HEAD'))).toBe(true);
  mkdirSync(place);
  onTestFinished(() => endAllIn(place));
  expect(() => gitIn(place, 'rev-parse')).toThrow('not a git repository');
});
