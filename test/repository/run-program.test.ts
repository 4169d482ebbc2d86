import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runProgram } from '../../scripts/run-program.mjs';
import { isAlive } from '../kit/agents/probe-agent.ts';
import { until } from '../kit/judges/until.ts';
import { createTempWorkspace } from '../kit/workspaces/temp-workspace.ts';

const node = (code: string, options: object = {}) =>
  runProgram(process.execPath, ['-e', code], { limitMs: 60_000, ...options });

test('the output of a program and its end are returned', async () => {
  const code = 'console.log("out"); console.error("err"); process.exit(3);';
  expect(await node(code)).toEqual({
    status: 3,
    stdout: 'out\n',
    stderr: 'err\n',
    stopped: undefined
  });
});

test('a program that is late is ended', async () => {
  const hangs = 'setInterval(() => undefined, 1000);';
  expect(await node(hangs, { limitMs: 1 })).toMatchObject({
    status: 'SIGTERM',
    stopped: 'late'
  });
});

test('what it started is ended with it, though it does not want to', async () => {
  const workspace = createTempWorkspace();
  onTestFinished(() => workspace.remove());
  const file = join(workspace.path, 'pid');
  const stays = `process.on('SIGTERM', () => undefined);
    setInterval(() => undefined, 1000);
    require('node:fs').writeFileSync(${JSON.stringify(file)}, String(process.pid));`;
  const starts = `require('node:child_process').spawn(
      process.execPath, ['-e', ${JSON.stringify(stays)}], { stdio: 'inherit' }
    );`;
  const stop = new AbortController();
  const ended = node(starts, { signal: stop.signal, graceMs: 100 });
  const pid = await until('the other', () => pidIn(file));
  stop.abort();
  expect(await ended).toMatchObject({ stopped: 'aborted' });
  await until('the end of the other', () => !isAlive(pid));
});

function pidIn(file: string): number | undefined {
  if (!existsSync(file)) return undefined;
  return Number(readFileSync(file, 'utf8')) || undefined;
}

test('nothing is started when it is too late', async () => {
  const signal = AbortSignal.abort();
  expect(await node('console.log("x")', { signal })).toMatchObject({
    stopped: 'aborted',
    stdout: ''
  });
});

test('a program that is not there is an error', async () => {
  await expect(
    runProgram('no-such-program', [], { limitMs: 1000 })
  ).rejects.toThrow('ENOENT');
});
