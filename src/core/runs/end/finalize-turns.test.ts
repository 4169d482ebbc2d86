import { expect, test } from 'vitest';
import type { ProcessIdentity } from '../../processes/process-identity.ts';
import type { Outcome } from '../run.ts';
import { isBeingFinalized } from './finalize.ts';

const self: ProcessIdentity = { pid: 1, start: '1', place: 'here' };
const other: ProcessIdentity = { pid: 2, start: '1', place: 'here' };

function isFinalizing(
  settled_by: ProcessIdentity | undefined,
  ageSeconds: number,
  others: 'alive' | 'dead' | 'unknown' = 'alive'
): boolean {
  const outcome = { ...(settled_by ? { settled_by } : {}) } as Outcome;
  const processes = { self, liveness: () => others };
  return isBeingFinalized(outcome, ageSeconds * 1000, processes);
}

test('a living process has ten seconds to record an end', () => {
  expect(isFinalizing(other, 0)).toBe(true);
  expect(isFinalizing(other, 5)).toBe(true);
  expect(isFinalizing(other, 5, 'unknown')).toBe(true);
  expect(isFinalizing(other, 11)).toBe(false);
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
