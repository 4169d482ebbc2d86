import {
  appendFileSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { notClaimed } from '../../core/runs/run.ts';
import {
  emptyExitFile,
  exitCodeOf,
  stopRequestOf
} from '../../core/runs/run-files.ts';

let directory: string;
const { argv } = process;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'troupe-supervisor-'));
  for (const name of ['stdout', 'stderr', 'events.jsonl'])
    writeFileSync(join(directory, name), '');
  writeFileSync(join(directory, 'exit'), emptyExitFile);
  const toFake = ['setInterval', 'clearInterval', 'performance'] as const;
  vi.useFakeTimers({ toFake: [...toFake] });
});

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  process.argv = argv;
  rmSync(directory, { recursive: true, force: true });
});

interface Limits {
  wall?: number;
  idle?: number;
  limit?: number;
}

/** Runs the supervisor in this process; resolves when it would exit. */
async function supervise(
  command: string[],
  { wall = 0, idle = 0, limit = 0 }: Limits = {}
) {
  const ended = new Promise<void>((resolve) => {
    vi.spyOn(process, 'exit').mockImplementation(((): void =>
      resolve()) as () => never);
  });
  const limits = [wall, idle, limit].map(String);
  const rest = ['keep', '0', ...command];
  process.argv = ['node', 'supervisor', directory, ...limits, ...rest];
  vi.resetModules();
  await import('./node-supervisor.ts');
  return { ended };
}

const sh = (script: string) => ['/bin/sh', '-c', script];
const read = (name: string) => readFileSync(join(directory, name), 'utf8');

/** The agent in the claim: its last line. */
const agent = () => Number(read('claim').trim().split('\n').at(-1));

/** Ends the agent of a test that has seen enough. */
async function end(ended: Promise<void>): Promise<void> {
  process.kill(agent(), 'SIGKILL');
  await ended;
}

describe('an agent', () => {
  test('is claimed, and leaves its output and its exit code', async () => {
    const { ended } = await supervise(sh('echo out; echo err >&2; exit 3'));
    await ended;
    expect(read('claim')).toMatch(new RegExp(`^${process.pid} \\S+\n\\d+\n$`));
    expect([read('stdout'), read('stderr')]).toEqual(['out\n', 'err\n']);
    expect(exitCodeOf(directory)).toBe(3);
  });

  test('that a signal ends has the code of a killed one', async () => {
    const { ended } = await supervise(sh('kill -9 $$'));
    await ended;
    expect(exitCodeOf(directory)).toBe(137);
  });

  test('whose program is missing ends with 127, and says so', async () => {
    const { ended } = await supervise([join(directory, 'missing')]);
    await ended;
    expect(exitCodeOf(directory)).toBe(127);
    expect(read('stderr')).toMatch(/^troupe: .*ENOENT/);
  });

  test('that another process has claimed never starts', async () => {
    writeFileSync(join(directory, 'claim'), 'never\n');
    await supervise(sh('echo out'));
    expect([read('claim'), read('stdout')]).toEqual(['never\n', '']);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('never starts when its claim cannot be recorded', async () => {
    const folder = directory;
    directory = join(folder, 'gone');
    const { ended } = await supervise(sh('echo out'));
    await ended;
    directory = folder;
    expect(process.exit).toHaveBeenCalledWith(notClaimed);
    expect(read('stdout')).toBe('');
  });
});

describe('a limit', () => {
  const why = () => stopRequestOf(directory)?.why;
  const pass = (seconds: number) => vi.advanceTimersByTime(1000 * seconds);

  test('of the time ends an agent once, at that time', async () => {
    const { ended } = await supervise(sh('exec sleep 100'), { wall: 3 });
    pass(2);
    expect(why()).toBeUndefined();
    pass(1);
    expect(why()).toBe('timeout');
    const events = read('events.jsonl');
    pass(2);
    expect(read('events.jsonl')).toBe(events);
    await end(ended);
  });

  test('of the silence ends an agent that has written nothing for so long', async () => {
    const { ended } = await supervise(sh('exec sleep 100'), { idle: 2 });
    pass(2);
    appendFileSync(join(directory, 'stdout'), 'x');
    pass(3);
    expect(why()).toBeUndefined();
    pass(1);
    expect(why()).toBe('idle_timeout');
    await end(ended);
  });

  test('of the output ends an agent that has written more', async () => {
    const { ended } = await supervise(sh('exec sleep 100'), { limit: 2 });
    appendFileSync(join(directory, 'stdout'), 'xy');
    pass(1);
    expect(why()).toBeUndefined();
    appendFileSync(join(directory, 'stderr'), 'z');
    pass(1);
    expect(why()).toBe('output_limit');
    await end(ended);
  });

  test('of 0 is none', async () => {
    const { ended } = await supervise(sh('exec sleep 100'));
    appendFileSync(join(directory, 'stdout'), 'x');
    pass(10_000);
    expect(why()).toBeUndefined();
    await end(ended);
  });
});
