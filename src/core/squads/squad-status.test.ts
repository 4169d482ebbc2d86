import { afterEach, beforeEach, expect, test } from 'vitest';
import { outcomeWith, recordWith } from '../../testing/run-facts.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../testing/temp-workspace.ts';
import type { EndStatus, StopReason } from '../runs/run.ts';
import { requestStop } from '../runs/run-files.ts';
import { memberStatusOf } from './squad-status.ts';

let workspace: TempWorkspace;
beforeEach(() => {
  workspace = createTempWorkspace();
});
afterEach(() => workspace.remove());

function ended(
  status: EndStatus,
  exit_code: number | null,
  { stop, kind = 'cli' }: { stop?: StopReason; kind?: 'cli' | 'api' } = {}
) {
  if (stop) requestStop(workspace.path, { why: stop });
  const outcome = outcomeWith({ status, exit_code });
  const run = { record: recordWith({ kind }), status, outcome };
  return memberStatusOf(run, workspace.path);
}

test.each(['queued', 'running'] as const)('%s is told as it is', (status) => {
  const run = { record: recordWith(), status };
  expect(memberStatusOf(run, workspace.path)).toBe(status);
});

test.each([
  ['completed', 0, 'completed'],
  // The exit code decides, not what became of the answer.
  ['failed', 0, 'completed'],
  ['failed', 1, 'error'],
  ['completed', 3, 'error'],
  ['interrupted', 137, 'error'],
  // Nobody has seen it exit.
  ['interrupted', null, 'error'],
  ['failed', null, 'error']
] as const)('%s with exit code %s is "%s"', (status, exitCode, told) => {
  expect(ended(status, exitCode)).toBe(told);
});

test.each([0, 1, 143, null])('a timeout wins over exit code %s', (code) => {
  expect(ended('timeout', code, { stop: 'timeout' })).toBe('timeout');
});

test('who was silent for too long has a timeout, too', () => {
  expect(ended('timeout', 0, { stop: 'idle_timeout' })).toBe('timeout');
});

test('a cancel wins over the exit code', () => {
  expect(ended('canceled', 0, { stop: 'canceled' })).toBe('canceled');
});

test.each(['output_limit', 'retries', 'disconnect'] as const)(
  'exit code 0 of one that was stopped (%s) is an error',
  (stop) => {
    expect(ended('failed', 0, { stop })).toBe('error');
  }
);

test('an API has no exit code that says anything', () => {
  expect(ended('completed', 0, { kind: 'api' })).toBe('completed');
  expect(ended('failed', 0, { kind: 'api' })).toBe('error');
});
