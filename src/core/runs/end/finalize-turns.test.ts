import { dirname } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../../test/kit/workspaces/temp-workspace.ts';
import type { ProcessIdentity } from '../../processes/process-identity.ts';
import type { Outcome } from '../run.ts';
import { giveUp } from '../sign-of-life.ts';
import { isBeingFinalized } from './finalize.ts';

const self: ProcessIdentity = { pid: 1, start: '1', place: 'here' };
const other: ProcessIdentity = { pid: 2, start: '1', place: 'here' };

let workspace: TempWorkspace;
/** The agent's folder. */
let directory: string;

beforeEach(() => {
  workspace = createTempWorkspace();
  directory = dirname(workspace.write('agent/outcome.json', '{}'));
});

afterEach(() => workspace.remove());

function isFinalizing(
  settled_by: ProcessIdentity | undefined,
  ageSeconds: number,
  others: 'alive' | 'dead' | 'unknown' = 'alive'
): boolean {
  const outcome = { ...(settled_by ? { settled_by } : {}) } as Outcome;
  const processes = { self, liveness: () => others };
  return isBeingFinalized(outcome, ageSeconds * 1000, directory, processes);
}

test('a living process has ten seconds to record an end', () => {
  expect(isFinalizing(other, 0)).toBe(true);
  expect(isFinalizing(other, 5)).toBe(true);
  expect(isFinalizing(other, 5, 'unknown')).toBe(true);
  expect(isFinalizing(other, 11)).toBe(false);
});

test('commands that end at once see by turns that an unknown process is silent', () => {
  expect(isFinalizing(other, 0, 'unknown')).toBe(true);
  // As if an earlier command had noted this long ago.
  giveUp(directory);
  expect(isFinalizing(other, 0, 'unknown')).toBe(false);
  expect(isFinalizing(other, 0)).toBe(true);
});

test('an end that a dead process left incomplete is completed at once', () => {
  expect(isFinalizing(other, 0, 'dead')).toBe(false);
});

test('this process and an unknown one have less than two seconds', () => {
  for (const author of [self, undefined]) {
    expect(isFinalizing(author, 0)).toBe(true);
    expect(isFinalizing(author, 2)).toBe(false);
  }
});
