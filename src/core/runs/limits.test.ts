import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Reply } from '../../plugin.ts';
import { recordWith } from '../../testing/run-facts.ts';
import { Limits, type Said } from './limits.ts';

const record = recordWith({ retry_seconds: 8 });
const patient = { ...record, timeout_seconds: 0 };
const why = { code: 'provider_error', message: 'Broken' } as const;
const working: Reply = { text: '', finished: false };

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'troupe-limits-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

function failing(times: number, row = 1): Said {
  return { reply: { ...working, retrying: { times, why } }, row };
}

/** Looks at a run at given seconds; gives the last thing that was passed. */
function look(looks: [second: number, said?: Said][], changed = record) {
  const limits = new Limits();
  const seen = looks.map(([second, said]) =>
    limits.passed(changed, directory, said, second * 1000)
  );
  return seen.at(-1);
}

describe('silence', () => {
  const idle = recordWith({ idle_timeout_seconds: 4, timeout_seconds: 0 });

  test('that its watchdog should have ended, ends a run', () => {
    expect(look([[0], [13]], idle)).toBeUndefined();
    expect(look([[0], [15]], idle)).toEqual({ why: 'idle_timeout' });
  });

  test('is over with every byte, however long nobody looked', () => {
    const limits = new Limits();
    const at = (second: number) =>
      limits.passed(idle, directory, undefined, second * 1000);
    at(0);
    writeFileSync(join(directory, 'stderr'), '.');
    expect(at(600)).toBeUndefined();
    expect(at(610)).toBeUndefined();
    expect(at(615)).toEqual({ why: 'idle_timeout' });
  });

  test('has no limit unless there is one', () => {
    expect(look([[0], [10_000]], patient)).toBeUndefined();
  });
});

describe('retries', () => {
  test('one more failure after the limit ends a run, with its reason', () => {
    expect(
      look([
        [0, failing(1)],
        [4, failing(2)],
        [9, failing(4)]
      ])
    ).toEqual({
      why: 'retries',
      failure: why
    });
  });

  test('failures within the limit do not', () => {
    expect(
      look([
        [0, failing(1)],
        [7, failing(6)]
      ])
    ).toBeUndefined();
  });

  test('an answer may be long in coming after a failure', () => {
    expect(
      look([
        [0, failing(1)],
        [50, failing(1)]
      ])
    ).toBeUndefined();
  });

  test('whatever works ends a row', () => {
    const looks = [
      ...[failing(1), failing(2), { reply: working, row: 1 }],
      ...[failing(1, 2), failing(2, 2)]
    ].map((said, index): [number, Said] => [index * 5, said]);
    expect(look(looks)).toBeUndefined();
  });

  test('so does what worked between two looks', () => {
    const looks = [1, 2, 3, 4, 5].map((row): [number, Said] => [
      row * 5,
      failing(row, row)
    ]);
    expect(look(looks)).toBeUndefined();
  });

  test('who has worked for long may fail for a tenth of that time', () => {
    const long: [number, Said][] = [
      [0, { reply: working, row: 0 }],
      [1200, failing(1)],
      [1290, failing(8)]
    ];
    expect(look(long, patient)).toBeUndefined();
    expect(look([...long, [1325, failing(9)]], patient)).toMatchObject({
      why: 'retries'
    });
  });

  test('who has ended by itself is not ended for its retries', () => {
    const { reply } = failing(9);
    const ended = { reply: { ...reply, finished: true }, row: 1 };
    expect(
      look([
        [0, failing(1)],
        [20, ended]
      ])
    ).toBeUndefined();
  });

  test.each([0, undefined])('a limit of %s lets it go on', (retry_seconds) => {
    const { retry_seconds: _, ...rest } = record;
    const changed = { ...rest, ...(retry_seconds === 0 && { retry_seconds }) };
    expect(
      look(
        [
          [0, failing(1)],
          [50, failing(9)]
        ],
        changed
      )
    ).toBeUndefined();
  });
});

test('a run long past its time limit has lost its watchdog', () => {
  expect(look([[0], [69]])).toBeUndefined();
  expect(look([[0], [71]])).toEqual({ why: 'timeout' });
});

test('output counts on both streams', () => {
  writeFileSync(join(directory, 'stdout'), 'x'.repeat(60));
  expect(look([[0]])).toBeUndefined();
  writeFileSync(join(directory, 'stderr'), 'x'.repeat(60));
  expect(look([[0]])).toEqual({ why: 'output_limit' });
});
