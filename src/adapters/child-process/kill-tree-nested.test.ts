import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import {
  createProcessStage,
  isThere,
  type ProcessStage,
  stopClock
} from '../../../test/kit/agents/process-stage.ts';
import { superviseScript } from '../../../test/kit/agents/supervised-agent.ts';
import { until } from '../../../test/kit/judges/until.ts';
import {
  claimOf,
  createFolder,
  endedWith,
  exitCodeOf,
  hasExited,
  stopRequestOf
} from '../../core/runs/run-files.ts';
import { readIfExists } from '../../core/state/files/atomic-file.ts';
import { killTree } from './kill-tree.ts';
import {
  type ProcessEntry,
  processEntry,
  thisNamespace
} from './process-table.ts';
import { supervisorArguments } from './supervise.ts';

const place = thisNamespace();
const request = { why: 'canceled' as const, reason: 'the user' };
let stage: ProcessStage;

beforeEach(() => {
  stage = createProcessStage();
});

const folderOf = (name: string) => join(stage.base, name);

/** A shell command that runs a script as another agent. */
function agentCommand(name: string, script: string): string {
  const directory = folderOf(name);
  createFolder(directory);
  const launched = {
    ...{ agentId: 'abcdef02', directory, cwd: stage.base, environment: {} },
    ...{ command: '/bin/sh', args: ['-c', script], isPlain: true },
    ...{ timeoutSeconds: 0, idleTimeoutSeconds: 0, outputLimitBytes: 0 },
    stopWithUs: false
  };
  const command = ['/bin/sh', ...supervisorArguments(launched, '/none')];
  const file = folderOf(`${name}.sh`);
  writeFileSync(file, `exec ${command.map(quoted).join(' ')}`);
  return `TROUPE_AGENT_DIR='${directory}' setsid sh '${file}' </dev/null >>'${directory}/stdout' 2>>'${directory}/stderr' &`;
}

const quoted = (word: string) => `'${word.replaceAll("'", `'\\''`)}'`;

/** The process of an agent whose script prints its pid. */
function memberOf(name: string): Promise<ProcessEntry> {
  return until(`the process of ${name}`, () => {
    const text = readIfExists(join(folderOf(name), 'stdout')) ?? '';
    return text.endsWith('\n') ? processEntry(Number(text)) : undefined;
  });
}

function supervisorOf(name: string): ProcessEntry | undefined {
  const pid = claimOf(folderOf(name), place)?.supervisor?.pid;
  return pid === undefined ? undefined : processEntry(pid);
}

function start(name: string, script: string) {
  const directory = folderOf(name);
  mkdirSync(directory, { recursive: true });
  const run = superviseScript(stage.base, '/bin/sh', script, { directory });
  return { ...run, target: { directory, place, request, withNested: true } };
}

const sleeper = 'echo $$; exec sleep 100';

describe('an agent that the ended one has spawned', () => {
  test('ends with it, for that reason, and so does what it has spawned', async () => {
    const third = agentCommand('third', sleeper);
    const second = agentCommand('second', `echo $$; ${third} wait`);
    const { target } = start('first', `echo $$; ${second} wait`);
    for (const name of ['first', 'second', 'third']) await memberOf(name);
    expect(await killTree(target)).toEqual({ survivors: [] });
    const ends = ['first', 'second', 'third'].map((name) => [
      exitCodeOf(folderOf(name)),
      stopRequestOf(folderOf(name))
    ]);
    const stop = { type: 'stop', why: 'canceled' };
    expect(ends).toEqual([
      [143, { ...stop, reason: 'the user' }],
      [143, { ...stop, reason: endedWith('first') }],
      [143, { ...stop, reason: endedWith('first') }]
    ]);
    await until('the end of all processes', () => stage.left().length === 0);
  });

  test('gets no signal from the one that ends the outer agent alone', async () => {
    const second = agentCommand('second', sleeper);
    const { target, ended } = start('first', `echo $$; ${second} wait`);
    const inner = await memberOf('second');
    const supervisor = supervisorOf('second');
    await killTree({ ...target, withNested: false });
    await ended;
    expect(exitCodeOf(target.directory)).toBe(143);
    expect(isThere(inner)).toBe(true);
    expect(supervisor && isThere(supervisor)).toBe(true);
    expect(hasExited(folderOf('second'))).toBe(false);
    expect(stopRequestOf(folderOf('second'))).toBeUndefined();
  });

  test('ends with it if it was spawned in answer to SIGTERM', async () => {
    const second = agentCommand('second', sleeper);
    const script = `trap "$(cat '${folderOf('trap')}')" TERM; echo $$; sleep 100 & wait; wait`;
    writeFileSync(folderOf('trap'), second);
    const { target } = start('first', script);
    await memberOf('first');
    expect(await killTree(target)).toEqual({ survivors: [] });
    // The process that is to become its supervisor may be ended before it is.
    const isAgent = claimOf(folderOf('second'), place) !== undefined;
    const reason = isAgent ? endedWith('first') : undefined;
    expect(stopRequestOf(folderOf('second'))?.reason).toBe(reason);
    await until('the end of all processes', () => stage.left().length === 0);
  });

  test('ends with it although it is just starting', async () => {
    const second = agentCommand('second', sleeper);
    const held = folderOf('second.sh');
    const gate = folderOf('gate');
    writeFileSync(
      held,
      `until [ -e '${gate}' ]; do sleep 0.01; done; ${readIfExists(held)}`
    );
    const { target, ended } = start('first', `echo $$; ${second} wait`);
    await memberOf('first');
    const pass = stopClock();
    const ending = killTree(target);
    await ended;
    writeFileSync(gate, '');
    await memberOf('second').catch(() => undefined);
    pass(500);
    expect(await ending).toEqual({ survivors: [] });
    expect(stopRequestOf(folderOf('second'))?.reason).toBe(endedWith('first'));
    await until('the end of all processes', () => stage.left().length === 0);
  });

  test('is ended once, and reported if it cannot be ended', async () => {
    const stubborn = 'trap "" TERM; echo $$; exec sleep 100';
    const second = agentCommand('second', stubborn);
    const script = `${second} trap "" TERM; echo $$; wait`;
    const { target, ended } = start('first', script);
    const inner = await memberOf('second');
    await memberOf('first');
    const outer = supervisorOf('first')?.pid;
    const sent: string[] = [];
    let looks = 0;
    const { kill } = process;
    vi.spyOn(process, 'kill').mockImplementation((pid, signal) => {
      if (pid === outer) looks += 1;
      if (pid === inner.pid) sent.push(String(signal));
      if (pid === inner.pid && signal === 'SIGKILL') throw new Error('EPERM');
      return kill.call(process, pid, signal);
    });
    const pass = stopClock();
    const ending = killTree(target);
    await until('SIGTERM', () => sent.includes('SIGTERM'));
    // Each finds the inner agent again.
    await until('further looks', () => looks > 5);
    pass(3000);
    await until('SIGKILL', () => sent.includes('SIGKILL'));
    await ended;
    pass(1500);
    expect(await ending).toEqual({ survivors: [inner.pid] });
    expect(sent.filter((signal) => signal === 'SIGTERM')).toHaveLength(1);
    expect(stopRequestOf(folderOf('second'))?.reason).toBe(endedWith('first'));
  });
});

test('an agent beside the ended one goes on, as does the one with its id in another workspace', async () => {
  const names = ['beside', 'elsewhere/first'];
  const others = names.map((name) => start(name, sleeper));
  const { target, ended } = start('first', sleeper);
  await memberOf('first');
  const members = await Promise.all(names.map(memberOf));
  expect(await killTree(target)).toEqual({ survivors: [] });
  await ended;
  expect(members.filter(isThere)).toEqual(members);
  for (const { directory } of others)
    expect(stopRequestOf(directory)).toBeUndefined();
});
