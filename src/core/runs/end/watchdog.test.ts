import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  afterEach,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test,
  vi
} from 'vitest';
import { recordWith } from '../../../../test/kit/servers/run-facts.ts';
import type { Reply } from '../../../plugin/plugin.ts';
import { emptyExitFile } from '../run-files.ts';
import type { ReplySoFar } from './live-output.ts';
import { lossOf } from './output-loss.ts';
import { Watchdog } from './watchdog.ts';

const record = recordWith({ retry_seconds: 8 });
const patient = { ...record, timeout_seconds: 0 };
const why = { code: 'provider_error', message: 'Broken' } as const;
const working: Reply = { text: '', finished: false };

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'troupe-watchdog-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

function failing(times: number, streak = 1): ReplySoFar {
  return { reply: { ...working, retrying: { times, why } }, streak };
}

/** Checks a run at given seconds; returns the last limit that was passed. */
function check(
  checks: [second: number, said?: ReplySoFar][],
  changed = record
) {
  const watchdog = new Watchdog();
  const seen = checks.map(([second, said]) =>
    watchdog.passed(changed, directory, said, false, second * 1000)
  );
  return seen.at(-1);
}

test('a stdout that has become shorter is noted, and makes its answer incomplete', () => {
  const watchdog = new Watchdog();
  const printed = (text: string) =>
    writeFileSync(join(directory, 'stdout'), text);
  writeFileSync(join(directory, 'exit'), emptyExitFile);
  printed('one\ntwo\n');
  watchdog.passed(patient, directory, undefined, false, 0);
  printed('one\ntwo\nthree\n');
  watchdog.noteTruncation(patient.agent_id, directory);
  expect(lossOf(directory, 'X')).toBeUndefined();
  printed('four\n');
  watchdog.noteTruncation(patient.agent_id, directory);
  printed('four\nfive\nsix\nseven\n');
  expect(lossOf(directory, 'X')).toMatchObject({
    code: 'bad_output',
    message: expect.stringMatching(/^X, or .* reopened \/dev\/stdout/)
  });
});

test('an hour in which a machine sleeps is no time that an agent ran', () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const hasty = recordWith({ timeout_seconds: 60, idle_timeout_seconds: 60 });
  const watchdog = new Watchdog();
  const passedAfter = (seconds: number) => {
    vi.advanceTimersByTime(seconds * 1000);
    return watchdog.passed(hasty, directory, undefined);
  };
  for (const seconds of [0, 1, 3600, 1])
    expect(passedAfter(seconds)).toBeUndefined();
  for (let second = 0; second < 70; second += 1) passedAfter(1);
  expect(passedAfter(1)).toEqual({ why: 'timeout' });
});

describe('silence', () => {
  const idle = recordWith({ idle_timeout_seconds: 4, timeout_seconds: 0 });

  test('past the limit ends a run that its supervisor has not ended', () => {
    expect(check([[0], [13]], idle)).toBeUndefined();
    expect(check([[0], [15]], idle)).toEqual({ why: 'idle_timeout' });
  });

  test('is over with every byte, however long ago the last check was', () => {
    const watchdog = new Watchdog();
    const at = (second: number) =>
      watchdog.passed(idle, directory, undefined, false, second * 1000);
    at(0);
    writeFileSync(join(directory, 'stderr'), '.');
    expect(at(600)).toBeUndefined();
    expect(at(610)).toBeUndefined();
    expect(at(615)).toEqual({ why: 'idle_timeout' });
  });

  test('is not limited if no limit is set', () => {
    expect(check([[0], [10_000]], patient)).toBeUndefined();
  });
});

describe('a wait', () => {
  const waiting = (waitSeconds: number): ReplySoFar => ({
    reply: { ...working, retrying: { times: 1, why, waitSeconds } },
    streak: 1
  });

  test('that takes longer than a run may take ends the run at once', () => {
    const quick = { ...record, timeout_seconds: 300 };
    expect(check([[0, waiting(300)]], quick)).toBeUndefined();
    expect(check([[0, waiting(301)]], quick)).toMatchObject({
      why: 'retries',
      failure: why,
      reason: expect.stringMatching(
        /^would wait until \d{4}-\d\d-\d\d \d\d:\d\d UTC, which is longer/
      )
    });
    expect(check([[0], [200, waiting(101)]], quick)).toMatchObject({
      why: 'retries'
    });
  });

  test('that would exceed the silence limit ends the run at once', () => {
    const idle = { ...patient, idle_timeout_seconds: 60 };
    expect(check([[0, waiting(59)]], idle)).toBeUndefined();
    expect(check([[0, waiting(61)]], idle)).toMatchObject({ why: 'retries' });
  });

  test('may take any time if no limit is set', () => {
    expect(check([[0, waiting(1e6)]], patient)).toBeUndefined();
  });

  test('of hours is reported as a quota, not as a rate limit', () => {
    const haste = { code: 'rate_limited', message: 'Slow down' } as const;
    const retrying = { times: 1, why: haste, waitSeconds: 9000 };
    const said = { reply: { ...working, retrying }, streak: 1 };
    expect(check([[0, said]])).toMatchObject({ failure: { code: 'quota' } });
  });
});

describe('retries', () => {
  test('end a run with one more failure after the limit, with its reason', () => {
    expect(
      check([
        [0, failing(1)],
        [4, failing(2)],
        [9, failing(4)]
      ])
    ).toEqual({
      why: 'retries',
      failure: why
    });
  });

  test('within the limit do not end a run', () => {
    expect(
      check([
        [0, failing(1)],
        [7, failing(6)]
      ])
    ).toBeUndefined();
  });

  test('do not end a run whose answer takes long after a failure', () => {
    expect(
      check([
        [0, failing(1)],
        [50, failing(1)]
      ])
    ).toBeUndefined();
  });

  test('start a new streak after any success', () => {
    const checks = [
      ...[failing(1), failing(2), { reply: working, streak: 1 }],
      ...[failing(1, 2), failing(2, 2)]
    ].map((said, index): [number, ReplySoFar] => [index * 5, said]);
    expect(check(checks)).toBeUndefined();
  });

  test('start a new streak after a success between two checks', () => {
    const checks = [1, 2, 3, 4, 5].map((streak): [number, ReplySoFar] => [
      streak * 5,
      failing(streak, streak)
    ]);
    expect(check(checks)).toBeUndefined();
  });

  test('may last a tenth of the time that a run has worked', () => {
    const long: [number, ReplySoFar][] = [
      [0, { reply: working, streak: 0 }],
      [1200, failing(1)],
      [1290, failing(8)]
    ];
    expect(check(long, patient)).toBeUndefined();
    expect(check([...long, [1325, failing(9)]], patient)).toMatchObject({
      why: 'retries'
    });
  });

  test('do not end a run that has ended by itself', () => {
    const { reply } = failing(9);
    const ended = { reply: { ...reply, finished: true }, streak: 1 };
    expect(
      check([
        [0, failing(1)],
        [20, ended]
      ])
    ).toBeUndefined();
  });

  test.each([0, undefined])(
    'never end a run with a limit of %s',
    (retry_seconds) => {
      const { retry_seconds: _, ...rest } = record;
      const changed = {
        ...rest,
        ...(retry_seconds === 0 && { retry_seconds })
      };
      expect(
        check(
          [
            [0, failing(1)],
            [50, failing(9)]
          ],
          changed
        )
      ).toBeUndefined();
    }
  );
});

test('a run far past its time limit is ended in place of its watchdog', () => {
  expect(check([[0], [69]])).toBeUndefined();
  expect(check([[0], [71]])).toEqual({ why: 'timeout' });
});

test('output counts on both streams', () => {
  writeFileSync(join(directory, 'stdout'), 'x'.repeat(60));
  expect(check([[0]])).toBeUndefined();
  writeFileSync(join(directory, 'stderr'), 'x'.repeat(60));
  expect(check([[0]])).toEqual({ why: 'output_limit' });
});
