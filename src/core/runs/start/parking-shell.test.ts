import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { until } from '../../../../test/kit/judges/until.ts';
import { createTempWorkspace } from '../../../../test/kit/workspaces/temp-workspace.ts';
import { parkingShell } from './parking-shell.ts';

let directory: string;
let mark: string;

beforeEach(() => {
  const workspace = createTempWorkspace();
  onTestFinished(() => workspace.remove());
  directory = workspace.path;
  mkdirSync(join(directory, 'asks'));
  mark = join(directory, 'asks/parked');
});

/** Runs a script of sh in the shell; `parked` is a script that takes its place. */
function start(script: string, parked = 'exit 9') {
  const file = join(directory, 'parked.sh');
  writeFileSync(file, parked);
  const words = ['/bin/sh', file, directory, '/bin/sh', '-c', script];
  const child = spawn('/bin/sh', ['-c', parkingShell, 'shell', ...words], {
    cwd: directory
  });
  const texts = { out: '', err: '' };
  child.stdout.on('data', (chunk) => {
    texts.out += chunk;
  });
  child.stderr.on('data', (chunk) => {
    texts.err += chunk;
  });
  const ended = new Promise<object>((resolve) =>
    child.on('close', (code) => resolve({ code, ...texts }))
  );
  return { child, ended };
}

test('a program has its own input, outputs and exit code', async () => {
  const { child, ended } = start('cat; echo err >&2; exit 3');
  child.stdin.end('in');
  expect(await ended).toEqual({ code: 3, out: 'in', err: 'err\n' });
});

test('a program that is killed has the exit code of a shell, and no words', async () => {
  const { ended } = start('kill -9 $$');
  expect(await ended).toEqual({ code: 137, out: '', err: '' });
});

test('a program that is missing is reported as missing', async () => {
  const child = spawn('/bin/sh', [
    ...['-c', parkingShell, 'shell', 'node', 'parked', directory],
    '/no/such/program'
  ]);
  let said = '';
  child.stderr.on('data', (chunk) => {
    said += chunk;
  });
  const code = await new Promise((resolve) => child.on('close', resolve));
  expect(code).toBe(127);
  expect(said).toContain('/no/such/program');
});

test('what is parked takes the place of its program, and gives the exit code', async () => {
  const { ended } = start(
    'printf half; : >asks/parked; kill -9 $$',
    'echo "$2"; rm asks/parked; exit 5'
  );
  expect(await ended).toEqual({ code: 5, out: 'half137\n', err: '' });
});

test('what is parked is started again when it is killed, and not for ever', async () => {
  writeFileSync(mark, '');
  const { ended } = start('exit 1', 'echo; kill -9 $$');
  const out = '\n'.repeat(5);
  expect(await ended).toEqual({ code: 137, out, err: '' });
});

test('a run may be parked any number of times', async () => {
  writeFileSync(mark, '{"asks":["1"]}');
  const { ended } = start(
    'exit 1',
    'echo x >>times; n=$(wc -l <times); echo "{$n}" >asks/parked; [ "$n" -lt 9 ] || rm asks/parked; exit "$n"'
  );
  expect(await ended).toEqual({ code: 9, out: '', err: '' });
});

test('after a signal, nothing takes the place of the program', async () => {
  const { child, ended } = start(
    ': >asks/parked; : >ready; while [ -e ready ]; do sleep 0.1; done; exit 4'
  );
  const ready = join(directory, 'ready');
  await until('the program', () => existsSync(ready));
  child.kill('SIGTERM');
  rmSync(ready);
  expect(await ended).toEqual({ code: 4, out: '', err: '' });
});
