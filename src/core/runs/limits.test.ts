import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Reply } from '../../plugin.ts';
import { Limits } from './limits.ts';
import type { RunRecord } from './run.ts';

const record: RunRecord = {
  v: 1,
  agent_id: '0badcafe',
  engine: 'codex',
  label: 'Codex',
  kind: 'cli',
  model: null,
  access: 'full',
  enforcement: 'enforced',
  tools: null,
  cwd: '/',
  task: 'x',
  prompt_chars: 1,
  system_prompt: null,
  timeout_seconds: 60,
  idle_timeout_seconds: 0,
  retry_seconds: 8,
  output_limit_bytes: 100,
  on_disconnect: 'keep',
  request_id: null,
  created_at: '2026-01-01T00:00:00.000Z',
  owner: { pid: 1, start: '', place: '' },
  parent: null,
  depth: 1,
  continues: null,
  session_id: null
};
const why = { code: 'provider_error', message: 'Broken' } as const;
const working: Reply = { text: '', finished: false };

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'troupe-limits-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

function failing(times: number): Reply {
  return { ...working, retrying: { times, why } };
}

/** Looks at a run at given seconds; gives the last thing that was passed. */
function look(looks: [second: number, reply?: Reply][], changed = record) {
  const limits = new Limits();
  const seen = looks.map(([second, reply]) =>
    limits.passed(changed, directory, reply, second * 1000)
  );
  return seen.at(-1);
}

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

  test('whatever works begins a new row', () => {
    const looks = [failing(1), failing(2), working, failing(1), failing(2)];
    const spread = looks.map((reply, index): [number, Reply] => [
      index * 5,
      reply
    ]);
    expect(look(spread)).toBeUndefined();
  });

  test('a row that began between two looks is new too', () => {
    const looks: [number, Reply][] = [
      [0, failing(1)],
      [5, failing(5)],
      [20, failing(2)],
      [21, failing(3)]
    ];
    expect(look(looks)).toBeUndefined();
  });

  test('who has ended by itself is not ended for its retries', () => {
    const ended = { ...failing(9), finished: true };
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
