import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { processesOf } from '../../../test/kit/agents/pane-agent.ts';
import {
  type SupervisedOptions,
  superviseScript
} from '../../../test/kit/agents/supervised-agent.ts';
import { until } from '../../../test/kit/judges/until.ts';
import { needing } from '../../../test/kit/workspaces/needs.ts';
import {
  canMount,
  mountSmallDisk
} from '../../../test/kit/workspaces/small-disk.ts';
import { endNotesOf, exitCodeOf } from '../../core/runs/run-files.ts';
import { killTree } from './kill-tree.ts';
import { locate } from './locate.ts';
import { thisNamespace } from './process-table.ts';

const mountable = canMount();
const anew = `echo one; echo two
echo three >/dev/stdout
echo four | tee /dev/stderr
echo five; echo six >/dev/stderr; echo seven >&2
exit 3`;
let base: string;

beforeAll(() => {
  base = mkdtempSync(join(tmpdir(), 'troupe-output-'));
});

afterAll(() => rmSync(base, { recursive: true, force: true }));

describe.concurrent.each([
  ['sh', 'sh'],
  ['dash', 'dash'],
  ['busybox', 'busybox'],
  ['bash', 'bash']
])('the output of a script, supervised by %s,', (name, program) => {
  const path = locate(program);
  const testHere = needing(name, path !== undefined);
  const testFull = needing(
    `${name} and mount`,
    mountable && path !== undefined
  );

  testHere('is complete although the script reopens /dev/stdout', async () => {
    const run = start(anew);
    await run.ended;
    expect(run.read('stdout')).toBe('one\ntwo\nthree\nfour\nfive\n');
    expect(run.read('stderr')).toBe('four\nsix\nseven\n');
    expect(exitCodeOf(run.directory)).toBe(3);
    expect(endNotesOf(run.directory).cut).toBe('');
    const names = readdirSync(run.directory);
    expect(names.filter((one) => /^(up|out|err)$/.test(one))).toEqual([]);
  });

  testHere('is complete when the exit code is written', async () => {
    const run = start('head -c 20000000 /dev/zero; exit 5');
    await until('its exit', () => exitCodeOf(run.directory));
    expect(statSync(join(run.directory, 'stdout')).size).toBe(20_000_000);
    expect(exitCodeOf(run.directory)).toBe(5);
    await run.ended;
  });

  testHere('does not delay the end when children keep it open', async () => {
    const run = start(
      'echo over; (sleep 100 &); (yes | head -c 300000000 >/dev/stderr &); exit 4'
    );
    await run.ended;
    expect(exitCodeOf(run.directory)).toBe(4);
    expect(run.read('stdout')).toBe('over\n');
    await killTree({ ...whole(run.directory), justEnded: true });
    expect(processesOf(run.directory)).toEqual([]);
  });

  testHere('is complete although its readers were stopped', async () => {
    const file = join(base, `${name}-stopped`);
    const run = start(
      'echo one; while [ ! -e "$1" ]; do sleep 0.05; done; seq 2 2000; exit 6',
      { args: [file] }
    );
    await until('the program', () => run.read('stdout') === 'one\n');
    // The reader of stderr may not have become `cat` yet.
    const readers = await until('both readers', () => {
      const found = processesOf(run.directory).filter(isReader);
      return found.length === 2 ? found : undefined;
    });
    for (const pid of readers) process.kill(pid, 'SIGSTOP');
    writeFileSync(file, '');
    await run.ended;
    expect(exitCodeOf(run.directory)).toBe(6);
    expect(run.read('stdout')).toMatch(/^one\n2\n[\d\n]*\n2000\n$/);
    expect(endNotesOf(run.directory).cut).toBe('');
  });

  testHere('has no reader left when its supervisor is killed', async () => {
    const run = start('echo up; exec sleep 100');
    const claim = await run.claimed();
    await until('the program', () => run.read('stdout') === 'up\n');
    process.kill(claim.supervisor?.pid ?? 0, 'SIGKILL');
    await run.ended;
    await killTree({ ...whole(run.directory), justEnded: true });
    expect(processesOf(run.directory)).toEqual([]);
    expect(exitCodeOf(run.directory)).toBeUndefined();
  });

  for (const [size, script] of [
    ['much', 'head -c 500000 /dev/zero && echo done >"$2"'],
    ['little', 'echo words && echo words >&2 && echo done >"$2"']
  ] as const)
    testFull(`is marked as cut where ${size} met a full disk`, async () => {
      const directory = join(base, `${name}-${size}`);
      const go = `${directory}-go`;
      const done = `${directory}-done`;
      mkdirSync(directory);
      const disk = mountSmallDisk(directory, 64);
      try {
        const waiting = 'while [ ! -e "$1" ]; do sleep 0.05; done';
        const run = start(`${waiting}; ${script}`, {
          args: [go, done],
          directory
        });
        await run.claimed();
        disk.fill();
        writeFileSync(go, '');
        await run.ended;
        expect(exitCodeOf(directory)).toBe(0);
        expect(existsSync(done)).toBe(true);
        expect(endNotesOf(directory).cut).toMatch(/no space/i);
      } finally {
        disk.unmount();
      }
    });

  testHere(
    'is marked as emptied where a program with files truncates it',
    async () => {
      const [go, over] = [join(base, `${name}-go`), join(base, `${name}-over`)];
      const run = start(
        `echo one; ${waitFor(1)}; echo x >/dev/stdout; ${waitFor(2)}`,
        { ...withFiles, args: [go, over] }
      );
      await twoLooks(run.directory);
      writeFileSync(go, '');
      await twoLooks(run.directory);
      writeFileSync(over, '');
      await run.ended;
      expect(exitCodeOf(run.directory)).toBe(0);
      expect(endNotesOf(run.directory)).toMatchObject({
        ...{ emptied: true, filled: false, cut: '' }
      });
    }
  );

  testFull(
    'is marked where a program with files met a disk that was full for a while',
    async () => {
      const directory = join(base, `${name}-while`);
      const [go, over] = [`${directory}-go`, `${directory}-over`];
      mkdirSync(directory);
      const disk = mountSmallDisk(directory, 64);
      try {
        const run = start(
          `${waitFor(1)}; head -c 9999 /dev/zero; ${waitFor(2)}; echo more`,
          { ...withFiles, args: [go, over], directory }
        );
        await run.claimed();
        disk.fill();
        writeFileSync(go, '');
        await twoLooks(directory);
        disk.free();
        writeFileSync(over, '');
        await run.ended;
        expect(exitCodeOf(directory)).toBe(0);
        expect(endNotesOf(directory)).toMatchObject({
          ...{ filled: true, emptied: false, cut: '' }
        });
      } finally {
        disk.unmount();
      }
    }
  );

  /** One of the two `cat`, in busybox by another name of the program. */
  function isReader(pid: number): boolean {
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
      return words.some((word) => /(^|\/)cat$/.test(word));
    } catch {
      // It has ended meanwhile.
      return false;
    }
  }

  function start(script: string, options: SupervisedOptions = {}) {
    // A failed test leaves no process for long.
    const limits = { timeoutSeconds: 60, outputLimitBytes: 1e8, ...options };
    return superviseScript(base, path ?? '', script, limits);
  }
});

/** A script with events that may hand over to Node; looked at every second. */
const withFiles = { isPlain: false, idleTimeoutSeconds: 4 };

function waitFor(argument: number): string {
  return `: "$@"; until [ -e "$${argument}" ]; do sleep 0.05; done`;
}

/**
 * The watchdog has looked since the call: its first sign may be an older one.
 * It looks once a second, and gives two signs at once.
 */
async function twoLooks(directory: string): Promise<void> {
  const sign = () =>
    statSync(join(directory, 'alive'), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  for (let looks = 0; looks < 2; looks += 1) {
    const before = sign();
    await until('a sign', () => sign() > before + 500);
  }
}

function whole(directory: string) {
  return { directory, place: thisNamespace() };
}
