import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  afterAll,
  beforeAll,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test
} from 'vitest';
import {
  createProcessStage,
  isThere,
  type ProcessStage,
  stopClock
} from '../../../test/kit/agents/process-stage.ts';
import { superviseScript } from '../../../test/kit/agents/supervised-agent.ts';
import { atNextRead } from '../../../test/kit/judges/next-read.ts';
import { needing } from '../../../test/kit/workspaces/needs.ts';
import {
  createFolder,
  exitCodeOf,
  stopRequestOf
} from '../../core/runs/run-files.ts';
import { sizeOf } from '../../core/state/files/text-file.ts';
import { killTree } from './kill-tree.ts';
import { hasProc, processEntry, thisNamespace } from './process-table.ts';

const request = { why: 'canceled' as const };
const testWithProc = needing('/proc', hasProc());
let base: string;

beforeAll(() => {
  base = mkdtempSync(join(tmpdir(), 'troupe-kill-'));
});

afterAll(() => rmSync(base, { recursive: true, force: true }));

describe('a request to end an agent', () => {
  test('is recorded before the first signal', async () => {
    const run = start(
      'trap "cat $TROUPE_AGENT_DIR/events.jsonl" TERM; echo up; sleep 100 & wait'
    );
    await run.claimed();
    await killTree({ ...whole(run.directory), request });
    await run.ended;
    expect(stopRequestOf(run.directory)).toEqual({ type: 'stop', ...request });
  });

  test('is recorded before a SIGKILL that comes without a SIGTERM', async () => {
    const run = start('echo up; exec sleep 100');
    await run.claimed();
    await killTree({ ...whole(run.directory), request }, undefined, {
      graceMs: 0
    });
    await run.ended;
    expect(exitCodeOf(run.directory)).toBe(137);
    expect(stopRequestOf(run.directory)).toEqual({ type: 'stop', ...request });
  });

  test('is not recorded for an agent that has ended, whose children still end', async () => {
    const run = start('sleep 100 >/dev/null 2>&1 & echo $!');
    await run.ended;
    const child = Number(run.read('stdout'));
    expect(isAlive(child)).toBe(true);
    const justEnded = true;
    await killTree({ ...whole(run.directory), justEnded, request });
    expect(isAlive(child)).toBe(false);
    expect(exitCodeOf(run.directory)).toBe(0);
    expect(stopRequestOf(run.directory)).toBeUndefined();
  });

  test('is recorded for an agent in another place', async () => {
    const run = start('exec sleep 100');
    await run.claimed();
    const { directory } = run;
    await killTree({ directory, place: 'elsewhere', request });
    expect(stopRequestOf(directory)?.why).toBe('canceled');
    await killTree(whole(directory));
    await run.ended;
  });

  test('is recorded at once for an agent in another place that is just starting', async () => {
    const stage = createProcessStage();
    const directory = join(stage.base, 'agent');
    createFolder(directory);
    writeFileSync(join(directory, 'claim'), '');
    stopClock();
    await killTree({ directory, place: 'elsewhere', request });
    expect(stopRequestOf(directory)?.why).toBe('canceled');
  });
});

describe('a process that an agent has left is ended', () => {
  let stage: ProcessStage;
  let directory: string;

  beforeEach(() => {
    stage = createProcessStage();
    directory = join(stage.base, 'agent');
  });

  const leave = (script: string) =>
    stage.start(script, { TROUPE_AGENT_DIR: directory });

  testWithProc('though it is during its execve at the first look', async () => {
    const { pid } = leave('sleep 100; :');
    atNextRead(`/proc/${pid}/environ`, () => '');
    expect(await killTree(whole(directory))).toEqual({ survivors: [] });
    expect(isAlive(pid)).toBe(false);
    expect(stage.left()).toEqual([]);
  });

  testWithProc('though its parent ends during the first look', async () => {
    const pipe = join(stage.base, 'pipe');
    execFileSync('mkfifo', [pipe]);
    const parent = leave(`read -r line <'${pipe}'; setsid sleep 100 & exit`);
    // The child is not in the list of processes, nor is its parent any more.
    atNextRead(`/proc/${parent.pid}/stat`, (read) => {
      writeFileSync(pipe, '\n');
      while (isThere(parent));
      return read();
    });
    expect(await killTree(whole(directory))).toEqual({ survivors: [] });
    expect(isThere(parent)).toBe(false);
    expect(stage.left()).toEqual([]);
  });
});

describe('a process that starts another one and ends, again and again, is ended', () => {
  const hop = 'trap "" TERM; echo >>"$1"; [ ! -e "$2" ] || sh "$0" "$1" "$2" &';

  const startHopping = (rest: string) => {
    const folder = mkdtempSync(join(base, 'hop-'));
    const [script, hops, going] = ['hop', 'hops', 'going'].map((name) =>
      join(folder, name)
    ) as [string, string, string];
    writeFileSync(script, hop);
    writeFileSync(going, '');
    onTestFinished(() => rmSync(going));
    const run = start(
      `sh '${script}' '${hops}' '${going}' >/dev/null 2>&1; ${rest}`
    );
    const isHopping = async () => {
      const before = sizeOf(hops);
      await delay(300);
      return sizeOf(hops) > before;
    };
    return { run, isHopping };
  };

  test('with its agent', async () => {
    const { run, isHopping } = startHopping('exec sleep 100');
    await run.claimed();
    expect(await isHopping()).toBe(true);
    await killTree({ ...whole(run.directory), request });
    expect(await isHopping()).toBe(false);
    expect(stopRequestOf(run.directory)).toEqual({ type: 'stop', ...request });
  });

  test('when its agent has left it', async () => {
    const { run, isHopping } = startHopping('exit');
    await run.ended;
    expect(await isHopping()).toBe(true);
    await killTree({ ...whole(run.directory), justEnded: true });
    expect(await isHopping()).toBe(false);
  });
});

function isAlive(pid: number): boolean {
  const entry = processEntry(pid);
  return entry !== undefined && !entry.zombie;
}

function whole(directory: string) {
  return { directory, place: thisNamespace() };
}

function start(script: string) {
  return superviseScript(base, '/bin/sh', script);
}
