import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import {
  createProcessStage,
  isThere,
  type ProcessStage
} from '../../../test/kit/agents/process-stage.ts';
import { superviseScript } from '../../../test/kit/agents/supervised-agent.ts';
import { atNextRead } from '../../../test/kit/judges/next-read.ts';
import { until } from '../../../test/kit/judges/until.ts';
import { needing } from '../../../test/kit/workspaces/needs.ts';
import { claimOf, createFolder } from '../../core/runs/run-files.ts';
import { killTree } from '../child-process/kill-tree.ts';
import { locate } from '../child-process/locate.ts';
import {
  hasProc,
  type ProcessEntry,
  processEntry,
  thisNamespace
} from '../child-process/process-table.ts';
import { supervisorArguments } from '../child-process/supervise.ts';
import { endProgram, programOf } from './end-program.ts';

const testWithProc = needing('/proc', hasProc());
const place = thisNamespace();
/** Short, as some of these programs end only by SIGKILL. */
const times = { graceMs: 600, restMs: 200 };
let stage: ProcessStage;

beforeEach(() => {
  stage = createProcessStage();
});

const fileOf = (name: string) => join(stage.base, name);

/** An agent whose program is run by a shell that outlives it. */
async function start(program: string): Promise<string> {
  const directory = fileOf('agent');
  mkdirSync(directory, { recursive: true });
  writeFileSync(fileOf('program'), program);
  const shell = `(exec sh '${fileOf('program')}'); echo "code $?" >'${fileOf('code')}'; sleep 100; :`;
  const { ended } = superviseScript(stage.base, '/bin/sh', shell, {
    directory
  });
  void ended.catch(() => undefined);
  await processIn('ready');
  return directory;
}

/** The process that has written its pid into this file. */
function processIn(name: string): Promise<ProcessEntry> {
  return until(name, () => {
    const text = textIn(name);
    return text.endsWith('\n') ? processEntry(Number(text)) : undefined;
  });
}

function textIn(name: string): string {
  try {
    return readFileSync(fileOf(name), 'utf8');
  } catch {
    return '';
  }
}

async function endAll(directory: string): Promise<void> {
  await killTree({ directory, place, withNested: true });
  await until('the end of all processes', () => stage.left().length === 0);
}

const wait = 'while :; do sleep 0.1; done';

test('a program gets SIGTERM once, and what its shell runs next is spared', async () => {
  const directory = await start(
    `trap 'echo term >>"${fileOf('terms')}"; exit 4' TERM; echo $$ >"${fileOf('ready')}"; ${wait}`
  );
  const programs = await programOf(directory);
  expect(programs.size).toBe(1);
  expect(await endProgram(directory, programs, times)).toBe(true);
  await until('the end of the program', () => textIn('code') === 'code 4\n');
  expect(textIn('terms')).toBe('term\n');
  const supervisor = claimOf(directory, place)?.supervisor;
  expect(supervisor && processEntry(supervisor.pid)).toBeDefined();
  const next = await until('the next program', async () => {
    const now = await programOf(directory);
    return now.size === 1 ? now : undefined;
  });
  expect(await endProgram(directory, programs, times)).toBe(false);
  for (const one of next.values()) expect(isThere(one)).toBe(true);
  await endAll(directory);
});

test('a program that ignores SIGTERM ends, with what it has left in other sessions', async () => {
  const directory = await start(
    `setsid sh -c 'trap "" TERM; echo $$ >"${fileOf('daemon')}"; ${wait}' &
trap '' TERM; echo $$ >"${fileOf('ready')}"; ${wait}`
  );
  const daemon = await processIn('daemon');
  const programs = await programOf(directory);
  expect(await endProgram(directory, programs, times)).toBe(true);
  await until('the end of the program', () => textIn('code') === 'code 137\n');
  expect(isThere(daemon)).toBe(false);
  await endAll(directory);
});

testWithProc(
  'what a program has left is found, though it is during its execve at the first look',
  async () => {
    const directory = await start(
      `setsid sh -c 'echo $$ >"${fileOf('daemon')}"; exec sleep 100' &
echo $$ >"${fileOf('ready')}"; exec sleep 100`
    );
    const daemon = await processIn('daemon');
    const programs = await programOf(directory);
    for (const { pid } of programs.values()) process.kill(pid, 'SIGKILL');
    await until(
      'the end of the program',
      () => textIn('code') === 'code 137\n'
    );
    atNextRead(`/proc/${daemon.pid}/environ`, () => '');
    expect(await endProgram(directory, programs, times)).toBe(false);
    expect(isThere(daemon)).toBe(false);
    await endAll(directory);
  }
);

test('a process that has the pid of the program now goes on', async () => {
  const directory = await start(`echo $$ >"${fileOf('ready')}"; ${wait}`);
  const [[pid, program] = []] = await programOf(directory);
  if (!program) expect.fail('There is no program.');
  const earlier = new Map([[Number(pid), { ...program, start: '1' }]]);
  expect(await endProgram(directory, earlier, times)).toBe(false);
  expect(isThere(program)).toBe(true);
  await endAll(directory);
});

test('a program that is stopped ends by itself', async () => {
  const directory = await start(
    `trap 'exit 4' TERM; echo $$ >"${fileOf('ready')}"; ${wait}`
  );
  const programs = await programOf(directory);
  for (const pid of programs.keys()) process.kill(pid, 'SIGSTOP');
  const patient = { graceMs: 15_000, restMs: 15_000 };
  expect(await endProgram(directory, programs, patient)).toBe(true);
  await until('the end of the program', () => textIn('code') !== '');
  expect(textIn('code')).toBe('code 4\n');
  await endAll(directory);
});

needing('tmux and /proc', hasProc() && !!locate('tmux'))(
  'a tmux session of a person stays where its server is the program’s',
  async () => {
    // Short enough for a socket, wherever the temporary directory is.
    const socket = join('/tmp', `troupe-${process.pid}-end`);
    const tmux = (...args: string[]) =>
      execFileSync('tmux', ['-f', '/dev/null', '-S', socket, ...args], {
        ...{ cwd: '/', encoding: 'utf8', stdio: 'pipe' },
        env: { ...process.env, TMUX: undefined }
      }).trim();
    onTestFinished(() => rmSync(socket, { force: true }));
    const directory = await start(
      `cd '${stage.base}'; tmux -f /dev/null -S '${socket}' new-session -d -s own 'sleep 100'; echo $$ >"${fileOf('ready')}"; ${wait}`
    );
    tmux('new-session', '-d', '-s', 'theirs', 'sleep 100');
    const programs = await programOf(directory);
    expect(await endProgram(directory, programs, times)).toBe(true);
    expect(tmux('list-sessions', '-F', '#{session_name}')).toBe('theirs');
    tmux('kill-server');
    await endAll(directory);
  }
);

test('an agent that the program has started goes on', async () => {
  const nested = fileOf('nested');
  createFolder(nested);
  const launched = {
    ...{ agentId: 'abcdef02', directory: nested, cwd: stage.base },
    ...{ environment: {}, command: '/bin/sh', isPlain: true },
    args: ['-c', `echo $$ >'${fileOf('inner')}'; exec sleep 100`],
    ...{ timeoutSeconds: 0, idleTimeoutSeconds: 0, outputLimitBytes: 0 },
    stopWithUs: false
  };
  const words = ['/bin/sh', ...supervisorArguments(launched, '/none')];
  const quoted = words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`);
  writeFileSync(fileOf('nested.sh'), `exec ${quoted.join(' ')}`);
  const directory = await start(
    `TROUPE_AGENT_DIR='${nested}' setsid sh '${fileOf('nested.sh')}' </dev/null >/dev/null 2>&1 &
echo $$ >"${fileOf('ready')}"; ${wait}`
  );
  const inner = await processIn('inner');
  const programs = await programOf(directory);
  expect(await endProgram(directory, programs, times)).toBe(true);
  await until('the end of the program', () => textIn('code') !== '');
  expect(isThere(inner)).toBe(true);
  await killTree({ directory: nested, place });
  await endAll(directory);
});

test('an agent without a supervisor has no program', async () => {
  const directory = fileOf('none');
  createFolder(directory);
  expect(await programOf(directory)).toEqual(new Map());
  expect(await endProgram(directory, new Map(), times)).toBe(false);
});
