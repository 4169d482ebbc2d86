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
import { notClaimed } from '../../core/runs/run.ts';
import {
  claimNeverStarts,
  claimOf,
  exitCodeOf,
  requestStop,
  stopRequestOf
} from '../../core/runs/run-files.ts';
import { locate } from './locate.ts';
import { processEntry, thisNamespace } from './process-table.ts';

const mountable = canMount();
const limited: [string, string, SupervisedOptions][] = [
  ['timeout', 'sleep 100', { timeoutSeconds: 1 }],
  ['idle_timeout', 'echo a; sleep 100', { idleTimeoutSeconds: 1 }],
  [
    'output_limit',
    'yes | head -c 5000; sleep 100',
    { outputLimitBytes: 1000, idleTimeoutSeconds: 4 }
  ]
];
let base: string;

beforeAll(() => {
  base = mkdtempSync(join(tmpdir(), 'troupe-supervisor-'));
});

afterAll(() => rmSync(base, { recursive: true, force: true }));

describe.concurrent.each([
  ['sh', 'sh'],
  ['dash', 'dash'],
  ['busybox', 'busybox'],
  ['bash', 'bash']
])('the supervisor under %s', (name, program) => {
  const path = locate(program);
  const testHere = needing(name, path !== undefined);
  const testFull = needing(
    `${name} and mount`,
    mountable && path !== undefined
  );

  testHere('stores output, exit code and its identity', async () => {
    const run = start('echo out; echo err >&2; exit 7');
    await run.ended;
    expect(exitCodeOf(run.directory)).toBe(7);
    expect(run.read('stdout')).toBe('out\n');
    expect(run.read('stderr')).toBe('err\n');
    const claim = claimOf(run.directory, thisNamespace());
    expect(claim?.supervisor?.pid).toBeGreaterThan(1);
    // The watchdog, and a reader for each stream.
    expect(claim?.watchdogs).toHaveLength(3);
    for (const pid of claim?.watchdogs ?? [])
      expect(processEntry(pid)).toBeUndefined();
  });

  testHere('shows signs of life while its agent is silent', async () => {
    const run = start('exec sleep 100', { idleTimeoutSeconds: 8 });
    const { supervisor } = await run.claimed();
    const sign = () =>
      statSync(join(run.directory, 'alive'), { throwIfNoEntry: false });
    const before = await until('a sign', sign);
    expect(before.mode & 0o777).toBe(0o600);
    await until('another', () => sign()?.mtimeMs !== before.mtimeMs);
    process.kill(-(supervisor?.pid ?? 0), 'SIGKILL');
    await run.ended;
  });

  testHere('ends an agent whose end another server has recorded', async () => {
    const run = start('exec sleep 100', { idleTimeoutSeconds: 8 });
    await run.claimed();
    writeFileSync(join(run.directory, 'outcome.json'), '{}');
    await run.ended;
    expect(exitCodeOf(run.directory)).toBe(143);
    expect(stopRequestOf(run.directory)?.why).toBe('canceled');
  });

  testHere('records the same start time as the process table', async () => {
    const run = start('sleep 100');
    const { supervisor } = await run.claimed();
    const entry = processEntry(supervisor?.pid ?? 0);
    expect(supervisor?.start).toBe(entry?.start);
    process.kill(-(supervisor?.pid ?? 0), 'SIGKILL');
    await run.ended;
    expect(exitCodeOf(run.directory)).toBeUndefined();
  });

  testHere('leaves nothing behind when agents end at once', async () => {
    const runs = Array.from({ length: 30 }, () => start('exit'));
    await Promise.all(runs.map((run) => run.ended));
    for (const run of runs) expect(exitCodeOf(run.directory)).toBe(0);
  });

  testHere('records an end by a signal as 128 and its number', async () => {
    const run = start('kill -KILL $$');
    await run.ended;
    expect(exitCodeOf(run.directory)).toBe(137);
  });

  testHere('records a missing program as 127', async () => {
    const run = start('', { command: '/no/such/program' });
    await run.ended;
    expect(exitCodeOf(run.directory)).toBe(127);
    expect(run.read('stderr')).toContain('/no/such/program');
  });

  testHere('passes on every argument and the prompt unchanged', async () => {
    const odd = ['', '-n', '$(date)', '`date`', 'a\'b"c', 'x\ny', '*', '\\n'];
    const script = 'cat; for one in "$@"; do printf "<%s>" "$one"; done';
    const run = start(script, { args: odd, prompt: '-e "$HOME"\n\\n é\n' });
    await run.ended;
    const words = odd.map((word) => `<${word}>`).join('');
    expect(run.read('stdout')).toBe(`-e "$HOME"\n\\n é\n${words}`);
  });

  testHere('gives the agent no descriptor of ours, and our umask', async () => {
    const run = start(
      'for n in 3 4 5; do (: >&$n) 2>/dev/null && echo "has $n"; done; : >"$1"',
      { args: [join(base, `mask-${name}`)], stopWithUs: true }
    );
    await run.ended;
    expect(run.read('stdout')).toBe('');
    const mode = statSync(join(base, `mask-${name}`)).mode & 0o777;
    expect(mode).toBe(0o666 & ~process.umask());
  });

  testHere('starts nothing if the run is already claimed', async () => {
    const run = start('echo ran', { before: claimNeverStarts });
    await run.ended;
    expect(run.read('stdout')).toBe('');
    expect(exitCodeOf(run.directory)).toBeUndefined();
  });

  testHere('starts nothing after a stop request', async () => {
    const run = start('echo ran', {
      before: (directory) => requestStop(directory, { why: 'canceled' })
    });
    await run.ended;
    expect(run.read('stdout')).toBe('');
    expect(exitCodeOf(run.directory)).toBe(143);
  });

  testHere('survives TERM to record the exit code', async () => {
    const run = start('while :; do sleep 0.05; [ -e "$1" ] && exit 5; done', {
      args: [join(base, `go-${name}`)]
    });
    const { supervisor } = await run.claimed();
    process.kill(supervisor?.pid ?? 0, 'SIGTERM');
    writeFileSync(join(base, `go-${name}`), '');
    await run.ended;
    expect(exitCodeOf(run.directory)).toBe(5);
  });

  for (const [why, script, limits] of limited)
    testHere(`ends the agent at its limit: ${why}`, async () => {
      const run = start(script, limits);
      await run.ended;
      expect(stopRequestOf(run.directory)).toEqual({ type: 'stop', why });
      expect(exitCodeOf(run.directory)).toBe(143);
    });

  testHere(
    'keeps the time limit of an agent with an unusable PATH',
    async () => {
      const began = performance.now();
      const run = start('while :; do read -r x </dev/null; done', {
        path: '/nowhere',
        timeoutSeconds: 1
      });
      await run.ended;
      expect(performance.now() - began).toBeGreaterThan(1000);
      expect(stopRequestOf(run.directory)?.why).toBe('timeout');
    }
  );

  testHere('does not touch an agent within its limits', async () => {
    const run = start('for n in 1 2 3 4 5; do echo $n; sleep 0.5; done', {
      timeoutSeconds: 30,
      idleTimeoutSeconds: 2,
      outputLimitBytes: 1000
    });
    await run.ended;
    expect(exitCodeOf(run.directory)).toBe(0);
    expect(stopRequestOf(run.directory)).toBeUndefined();
  });

  testHere('ends the agent with its server in mode stop', async () => {
    const run = start('sleep 100', { stopWithUs: true });
    await run.claimed();
    run.disconnect();
    await run.ended;
    expect(stopRequestOf(run.directory)?.why).toBe('disconnect');
    expect(exitCodeOf(run.directory)).toBe(143);
  });

  testHere('stays until its reaper has done its work', async () => {
    const slow = join(base, `slow-reaper-${name}.cjs`);
    writeFileSync(slow, slowReaper);
    const run = start('echo $$; exec sleep 100', {
      stopWithUs: true,
      reaper: slow
    });
    await run.claimed();
    await until('the agent', () => run.read('stdout').includes('\n'));
    run.disconnect();
    await run.ended;
    expect(run.read('reaped')).toBe('disconnect');
  });

  testHere('ends the process group if there is no Node', async () => {
    const run = start('trap "" TERM; sleep 100', {
      timeoutSeconds: 1,
      reaper: '/no/reaper'
    });
    const { supervisor } = await run.claimed();
    await run.ended;
    expect(stopRequestOf(run.directory)?.why).toBe('timeout');
    expect(processEntry(supervisor?.pid ?? 0)).toBeUndefined();
  });

  testFull('records the exit code on a full disk', async () => {
    const directory = join(base, `disk-${name}`);
    mkdirSync(directory);
    const disk = mountSmallDisk(directory, 64);
    try {
      const run = start('while [ ! -e "$1" ]; do sleep 0.05; done; exit 9', {
        args: [join(base, `full-${name}`)],
        directory
      });
      await run.claimed();
      disk.fill();
      writeFileSync(join(base, `full-${name}`), '');
      await run.ended;
      expect(exitCodeOf(directory)).toBe(9);
    } finally {
      disk.unmount();
    }
  });

  for (const what of ['bytes', 'files'] as const)
    testFull(
      `starts nothing on a disk without free ${what}, and leaves no claim`,
      async () => {
        const directory = join(base, `no-${what}-${name}`);
        mkdirSync(directory);
        const disk = mountSmallDisk(directory, 64, 20);
        try {
          const before = () => disk.fill(what);
          const ran = join(base, `ran-${what}-${name}`);
          const script = `echo ran >>'${ran}'`;
          const refused = start(script, { directory, before });
          expect(await refused.ended).toBe(notClaimed);
          expect(existsSync(ran)).toBe(false);
          expect(claimOf(directory, thisNamespace())).toBeUndefined();
          disk.free();
          expect(await start(script, { directory }).ended).toBe(0);
          expect(exitCodeOf(directory)).toBe(0);
          expect(readFileSync(ran, 'utf8')).toBe('ran\n');
        } finally {
          disk.unmount();
        }
      }
    );

  testFull('leaves no pipe on a disk with files for some of them', async () => {
    const directory = join(base, `pipes-${name}`);
    mkdirSync(directory);
    const disk = mountSmallDisk(directory, 64, 20);
    try {
      const before = () => {
        disk.fill('files');
        // One is the claim.
        for (const one of [0, 1, 2])
          rmSync(join(directory, '.ballast', `${one}`));
      };
      await start('echo out', { directory, before }).ended;
      expect(exitCodeOf(directory)).toBe(0);
      expect(readFileSync(join(directory, 'stdout'), 'utf8')).toBe('out\n');
      const left = readdirSync(directory);
      expect(left).toContain('claim');
      expect(left.filter((one) => /^(up|out|err)$/.test(one))).toEqual([]);
    } finally {
      disk.unmount();
    }
  });

  function start(script: string, options: SupervisedOptions = {}) {
    return superviseScript(base, path ?? '', script, options);
  }
});

/** Ends the agent first, and goes on for a moment. */
const slowReaper = `
const { appendFileSync, readFileSync } = require('node:fs');
const [directory, why] = process.argv.slice(2);
process.kill(Number(readFileSync(directory + '/stdout', 'utf8')), 'SIGKILL');
setTimeout(() => appendFileSync(directory + '/reaped', why), 500);
`;
