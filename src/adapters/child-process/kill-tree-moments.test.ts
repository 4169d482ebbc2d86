import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import {
  createProcessStage,
  follow,
  isThere,
  type ProcessStage,
  snapshots,
  stopClock
} from '../../../test/kit/agents/process-stage.ts';
import { superviseScript } from '../../../test/kit/agents/supervised-agent.ts';
import {
  justBefore,
  watchFiles
} from '../../../test/kit/judges/file-operations.ts';
import { until } from '../../../test/kit/judges/until.ts';
import {
  createFolder,
  exitCodeOf,
  stopRequestOf
} from '../../core/runs/run-files.ts';
import { readIfExists } from '../../core/state/files/atomic-file.ts';
import { killTree } from './kill-tree.ts';
import {
  type ProcessEntry,
  processEntry,
  thisNamespace
} from './process-table.ts';

vi.mock('node:fs', async () => {
  const { watchedFs } = await import(
    '../../../test/kit/judges/file-operations.ts'
  );
  return watchedFs();
});

const place = thisNamespace();
const request = { why: 'canceled' as const };
let stage: ProcessStage;
/** What this process has sent, such as `SIGTERM 123`. A 0 only looks. */
let sent: string[];
let refused: string | undefined;

beforeEach(() => {
  watchFiles();
  stage = createProcessStage();
  sent = [];
  refused = undefined;
  const { kill } = process;
  vi.spyOn(process, 'kill').mockImplementation((pid, signal) => {
    if (signal !== 0) sent.push(`${signal} ${pid}`);
    if (sent.at(-1) === refused) throw new Error('EPERM');
    return kill.call(process, pid, signal);
  });
});

/** A script as an agent, once it has put out something. */
async function started(script: string) {
  const run = superviseScript(stage.base, '/bin/sh', script);
  const { supervisor, watchdogs } = await run.claimed();
  const pid = supervisor?.pid ?? 0;
  await until('its output', () => run.read('stdout') !== '');
  const target = { directory: run.directory, place, request };
  return { ...run, pid, watchdogs, target, member: Number(run.read('stdout')) };
}

/** Prints its pid and ignores SIGTERM. */
const stubborn = 'trap "" TERM; echo $$; exec sleep 100';

/** Waits for further looks at the processes, each of which wakes this one. */
async function looks(supervisor: number, count = 3): Promise<void> {
  const seen = () => sent.filter((one) => one === `SIGCONT ${supervisor}`);
  const before = seen().length;
  await until('further looks', () => seen().length >= before + count);
}

function counted(signal: string, pid: number): number {
  return sent.filter((one) => one === `${signal} ${pid}`).length;
}

/** The folder of an agent that has not started. */
function folder(): string {
  const directory = join(stage.base, 'agent');
  createFolder(directory);
  return directory;
}

const claimed = (directory: string, text: string) =>
  writeFileSync(join(directory, 'claim'), text);

describe('a process that ignores SIGTERM', () => {
  test('gets it once, and SIGKILL after 3 s', async () => {
    const { pid, member, target, ended } = await started(stubborn);
    const pass = stopClock();
    const ending = follow(killTree(target));
    await looks(pid);
    pass(2999);
    await looks(pid);
    expect(counted('SIGTERM', member)).toBe(1);
    expect(counted('SIGKILL', member)).toBe(0);
    expect(ending.isOver).toBe(false);
    pass(1);
    expect(await ending.promise).toEqual({ survivors: [] });
    await ended;
    expect(counted('SIGTERM', member)).toBe(1);
    expect(exitCodeOf(target.directory)).toBe(137);
  });

  test('is reported if it is there 1.5 s after SIGKILL', async () => {
    const { pid, member, target } = await started(stubborn);
    refused = `SIGKILL ${member}`;
    const pass = stopClock();
    const ending = follow(killTree(target));
    await looks(pid);
    pass(3000);
    await until('SIGKILL', () => sent.includes(`SIGKILL ${member}`));
    pass(1499);
    await looks(pid);
    expect(ending.isOver).toBe(false);
    pass(1);
    expect(await ending.promise).toEqual({ survivors: [member] });
    expect(counted('SIGTERM', member)).toBe(1);
    expect(counted('SIGKILL', member)).toBeGreaterThan(1);
  });
});

describe('a supervisor', () => {
  test('and its watchdogs get no signal that ends them', async () => {
    const run = await started('echo $$; exec sleep 100');
    const { supervisor } = await run.claimed();
    // They are recorded while the first snapshot is taken.
    const whole = run.read('claim');
    claimed(run.directory, `${supervisor?.pid} ${supervisor?.start}\n`);
    justBefore('list', '/proc', () => claimed(run.directory, whole));
    await killTree(run.target);
    await run.ended;
    expect(exitCodeOf(run.directory)).toBe(143);
    expect(run.watchdogs.length).toBeGreaterThan(1);
    const ends = sent.filter((one) => !one.startsWith('SIGCONT'));
    expect(ends).toEqual([`SIGTERM ${run.member}`]);
  });

  test('that is paused goes on, and records the end', async () => {
    const run = await started('echo $$; exec sleep 100');
    process.kill(run.pid, 'SIGSTOP');
    await killTree(run.target);
    await run.ended;
    expect(exitCodeOf(run.directory)).toBe(143);
  });

  test('whose claim was removed is known to the server that started it', async () => {
    const run = await started('echo $$; exec env -i sleep 100');
    const member = processEntry(run.member);
    const claim = run.read('claim');
    rmSync(join(run.directory, 'claim'));
    justBefore('list', '/proc', () => claimed(run.directory, claim));
    expect(await killTree(run.target, run.pid)).toEqual({ survivors: [] });
    expect(member && isThere(member)).toBe(false);
    await run.ended;
    const ends = sent.filter((one) => !one.startsWith('SIGCONT'));
    expect(ends).toEqual([`SIGTERM ${run.member}`]);
  });

  test.each([
    ['another start', ({ pid }: ProcessEntry) => `${pid} 1\n`, place],
    [
      'another place',
      ({ pid, start }: ProcessEntry) => `${pid} ${start}\n`,
      'elsewhere'
    ]
  ])('is not a process with its pid and %s', async (_, text, there) => {
    const other = stage.start('sleep 100 & wait');
    const directory = folder();
    claimed(directory, text(other));
    stopClock();
    for (const justEnded of [false, true]) {
      const target = { directory, place: there, request, justEnded };
      expect(await killTree(target)).toEqual({ survivors: [] });
    }
    expect(isThere(other)).toBe(true);
    expect(sent).toEqual([]);
    expect(stopRequestOf(directory)?.why).toBe('canceled');
  });
});

describe('a supervisor that is just starting', () => {
  let directory: string;
  let ending: ReturnType<typeof follow>;
  let pass: (milliseconds: number) => void;

  beforeEach(() => {
    directory = folder();
    pass = stopClock();
  });

  const end = () => {
    ending = follow(killTree({ directory, place, request }));
  };

  /** Starts its agent once the test writes to its pipe. */
  function supervisor(): { entry: ProcessEntry; startAgent: () => void } {
    const pipe = join(stage.base, 'pipe');
    execFileSync('mkfifo', [pipe]);
    const entry = stage.start(
      `read -r line <'${pipe}'; sleep 100 & wait $!; echo 143 1<>'${directory}/exit'`,
      { TROUPE_AGENT_DIR: directory }
    );
    return { entry, startAgent: () => writeFileSync(pipe, '\n') };
  }

  const claimedBy = ({ pid, start }: ProcessEntry) =>
    claimed(directory, `${pid} ${start}\n`);

  test('and has not written its identity is waited for', async () => {
    claimed(directory, '');
    end();
    await snapshots();
    const { entry, startAgent } = supervisor();
    claimedBy(entry);
    startAgent();
    await ending.promise;
    expect(exitCodeOf(directory)).toBe(143);
    expect(sent.some((one) => one.startsWith('SIGTERM'))).toBe(true);
  });

  test('does not start an agent after half a second without its identity', async () => {
    claimed(directory, '');
    end();
    pass(499);
    await snapshots();
    expect(ending.isOver).toBe(false);
    pass(1);
    await ending.promise;
    expect(stopRequestOf(directory)?.why).toBe('canceled');
  });

  test('is waited for until it has started the agent, which then ends', async () => {
    const { entry, startAgent } = supervisor();
    claimedBy(entry);
    end();
    await looks(entry.pid);
    expect(ending.isOver).toBe(false);
    startAgent();
    await ending.promise;
    expect(exitCodeOf(directory)).toBe(143);
    expect(counted('SIGTERM', entry.pid)).toBe(0);
  });

  test('is spared if this process started it, though its claim is empty', async () => {
    const { entry, startAgent } = supervisor();
    claimed(directory, '');
    ending = follow(killTree({ directory, place, request }, entry.pid));
    await looks(entry.pid);
    claimedBy(entry);
    startAgent();
    await ending.promise;
    expect(exitCodeOf(directory)).toBe(143);
    expect(counted('SIGTERM', entry.pid)).toBe(0);
  });

  test('is waited for until it has ended', async () => {
    const { entry } = supervisor();
    claimedBy(entry);
    end();
    await looks(entry.pid);
    expect(ending.isOver).toBe(false);
    process.kill(entry.pid, 'SIGKILL');
    expect(await ending.promise).toEqual({ survivors: [] });
  });

  test('is not waited for once the run has ended, or if it never starts', async () => {
    claimed(directory, 'never\n');
    expect(await killTree({ directory, place })).toEqual({ survivors: [] });
    claimedBy(supervisor().entry);
    writeFileSync(join(directory, 'exit'), '0\n');
    end();
    expect(await ending.promise).toEqual({ survivors: [] });
    expect(stopRequestOf(directory)).toBeUndefined();
  });
});

describe('a process that appears while its agent is being ended', () => {
  test('is ended if it was started in answer to SIGTERM', async () => {
    const run = await started(
      "trap 'setsid sleep 100 >/dev/null 2>&1 & exit' TERM; echo $$; sleep 100 & wait"
    );
    expect(await killTree(run.target)).toEqual({ survivors: [] });
    await run.ended;
    expect(stage.left()).toEqual([]);
  });

  test('is ended if it was started after the look at all processes', async () => {
    const run = await started('echo $$; exec sleep 100');
    let late: ProcessEntry | undefined;
    // The claim is read before that look, and again after it.
    justBefore('stat', '/claim', () => undefined);
    justBefore('stat', '/claim', () => {
      late = stage.start('exec sleep 100', {
        TROUPE_AGENT_DIR: run.directory
      });
    });
    expect(await killTree(run.target)).toEqual({ survivors: [] });
    expect(late && isThere(late)).toBe(false);
    expect(late && counted('SIGTERM', late.pid)).toBe(1);
    await run.ended;
  });

  test('is ended even if only its parent, which has ended, led to it', async () => {
    const file = join(stage.base, 'pid');
    const run = await started(
      `env -i PATH="$PATH" setsid sh -c 'trap "" TERM; echo $$ >"$0"; exec sleep 100' '${file}' & echo $$; wait`
    );
    const pid = await until(
      'its pid',
      () => Number(readIfExists(file)?.match(/^\d+\n/)?.[0]) || undefined
    );
    stage.endLater(pid);
    const pass = stopClock();
    const ending = follow(killTree(run.target));
    await run.ended;
    expect(ending.isOver).toBe(false);
    pass(3000);
    expect(await ending.promise).toEqual({ survivors: [] });
    expect([counted('SIGTERM', pid), counted('SIGKILL', pid) > 0]).toEqual([
      1,
      true
    ]);
  });
});

test('an agent that ends by itself just before its signal was not stopped', async () => {
  const run = await started('echo $$; exec sleep 100');
  process.kill(run.pid, 'SIGSTOP');
  justBefore('stat', '/claim', () => undefined);
  justBefore('stat', '/claim', () => {
    execFileSync('kill', ['-KILL', String(run.member)]);
    while (processEntry(run.member)?.zombie === false);
    // The supervisor records the end only after a further look.
    refused = `SIGCONT ${run.pid}`;
    void looks(run.pid, 2).then(() => {
      refused = undefined;
    });
  });
  expect(await killTree(run.target)).toEqual({ survivors: [] });
  await run.ended;
  expect(exitCodeOf(run.directory)).toBe(137);
  expect(stopRequestOf(run.directory)).toBeUndefined();
});
