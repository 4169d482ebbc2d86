import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import {
  createProcessStage,
  type ProcessStage
} from '../../../test/kit/agents/process-stage.ts';
import { until } from '../../../test/kit/judges/until.ts';
import { zombieHolder } from '../../../test/kit/workspaces/lock-files.ts';
import { needing } from '../../../test/kit/workspaces/needs.ts';
import { locate } from './locate.ts';
import {
  hasProc,
  type ProcessEntry,
  processEntry,
  processTable,
  thisNamespace,
  thisProcess
} from './process-table.ts';
import { createProcesses, processLiveness } from './processes.ts';

const place = thisNamespace();
const [host = '', boot = '', space = ''] = place.split(' ');
const testWithProc = needing('/proc', hasProc());

let stage: ProcessStage;
let other: ProcessEntry;

beforeEach(() => {
  stage = createProcessStage();
  other = stage.start('exec sleep 100');
});

describe.each([
  ['a server', () => createProcesses('').liveness],
  ['a lock', () => processLiveness().liveness]
])('another process, as %s sees it,', (_, create) => {
  const liveness = (changes: { start?: string; place?: string } = {}) => {
    const { pid, start } = other;
    return create()({ pid, start, place, ...changes });
  };

  test('is alive until it ends', async () => {
    expect(liveness()).toBe('alive');
    process.kill(other.pid, 'SIGKILL');
    await until('its end', () => processEntry(other.pid) === undefined);
    expect(liveness()).toBe('dead');
  });

  test('is dead once it has ended, though its parent does not wait for it', async () => {
    const { holder, reap } = await zombieHolder();
    onTestFinished(() => void reap());
    const { pid, start } = holder;
    expect(processEntry(pid)?.zombie).toBe(true);
    expect(create()({ pid, start, place })).toBe('dead');
  });

  test('is dead if its pid belongs to a process with another start', () => {
    expect(liveness({ start: `${other.start}1` })).toBe('dead');
    expect(liveness({ start: other.start.slice(0, -1) })).toBe('dead');
  });

  test('is unknown without a start', () => {
    expect(liveness({ start: '' })).toBe('unknown');
  });

  test('is dead after a reboot of this machine, whatever has its pid now', () => {
    expect(liveness({ place: `${host} earlier ${space}` })).toBe('dead');
  });

  test.each([
    ['another machine', `elsewhere ${boot} ${space}`],
    ['another machine and boot', `elsewhere earlier ${space}`],
    ['another container', `${host} ${boot} pid:[1]`],
    ['another container and boot', `${host} earlier pid:[1]`]
  ])('is unknown in %s, whatever has its pid here', (_place, there) => {
    expect(liveness({ place: there })).toBe('unknown');
  });
});

testWithProc('a place names the machine, the boot and the namespace', () => {
  const id = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  const names = [hostname(), id, readlinkSync('/proc/self/ns/pid')];
  expect(thisNamespace()).toBe(names.join(' '));
});

testWithProc('this process is known by its start in ticks', () => {
  const stat = readFileSync('/proc/self/stat', 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const { pid } = process;
  expect(thisProcess()).toEqual({ pid, start: fields[19], place });
});

const bash = locate('bash');

needing('/proc and bash', hasProc() && bash !== undefined)(
  'a process has the group and the session that it is in',
  async () => {
    const script = 'set -m; sleep 100 & wait';
    const leader = stage.start(`exec '${bash}' -c '${script}'`);
    const child = await until('a group of its own', () =>
      processTable().find(
        ({ pid, parent, group }) => parent === leader.pid && group === pid
      )
    );
    stage.endLater(child.pid);
    expect(child.session).toBe(leader.pid);
    expect(processEntry(leader.pid)?.group).toBe(leader.pid);
  }
);
