import { utimesSync } from 'node:fs';
import { dirname } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../testing/temp-workspace.ts';
import type { Outcome, ProcessIdentity } from './run.ts';
import { isBeingSettled } from './settler.ts';

const self: ProcessIdentity = { pid: 1, start: '1', place: 'here' };
const other: ProcessIdentity = { pid: 2, start: '1', place: 'here' };

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(() => workspace.remove());

function asked(
  settled_by: ProcessIdentity | undefined,
  ageSeconds: number,
  others: 'alive' | 'dead' | 'unknown' = 'alive'
): boolean {
  const file = workspace.write('agent/outcome.json', '{}');
  const then = Date.now() / 1000 - ageSeconds;
  utimesSync(file, then, then);
  const outcome = { ...(settled_by ? { settled_by } : {}) } as Outcome;
  const processes = { self, liveness: () => others };
  return isBeingSettled(outcome, dirname(file), processes);
}

test('a settler that lives gets its time, however busy the machine', () => {
  expect(asked(other, 0)).toBe(true);
  expect(asked(other, 5)).toBe(true);
  expect(asked(other, 5, 'unknown')).toBe(true);
  expect(asked(other, 11)).toBe(false);
});

test('what one left behind that is gone is finished at once', () => {
  expect(asked(other, 0, 'dead')).toBe(false);
});

test('our own and an unknown settler get a moment', () => {
  for (const settler of [self, undefined]) {
    expect(asked(settler, 0)).toBe(true);
    expect(asked(settler, 2)).toBe(false);
  }
});
