import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  outcomeWith,
  recordWith
} from '../../../test/kit/servers/run-facts.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../test/kit/workspaces/temp-workspace.ts';
import type { EndStatus } from '../runs/run.ts';
import type { StopReason } from '../runs/run-files.ts';
import { requestStop } from '../runs/run-files.ts';
import { memberStatusOf } from './squad-store.ts';

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

test.each(['queued', 'running'] as const)(
  'an agent that is %s has that status',
  (status) => {
    const run = { record: recordWith(), status };
    expect(memberStatusOf(run, workspace.path)).toBe(status);
  }
);

test.each([
  ['completed', 0, 'completed'],
  // The exit code decides, not the answer.
  ['failed', 0, 'completed'],
  ['failed', 1, 'error'],
  ['completed', 3, 'error'],
  ['interrupted', 137, 'error'],
  // No server has seen its exit.
  ['interrupted', null, 'error'],
  ['failed', null, 'error']
] as const)('%s with exit code %s is "%s"', (status, exitCode, expected) => {
  expect(ended(status, exitCode)).toBe(expected);
});

test.each([0, 1, 143, null])(
  'a timeout takes precedence over exit code %s',
  (code) => {
    expect(ended('timeout', code, { stop: 'timeout' })).toBe('timeout');
  }
);

test('an idle timeout is a timeout', () => {
  expect(ended('timeout', 0, { stop: 'idle_timeout' })).toBe('timeout');
});

test('a cancellation takes precedence over the exit code', () => {
  expect(ended('canceled', 0, { stop: 'canceled' })).toBe('canceled');
});

test.each(['output_limit', 'retries', 'disconnect'] as const)(
  'exit code 0 of an agent that was stopped (%s) is an error',
  (stop) => {
    expect(ended('failed', 0, { stop })).toBe('error');
  }
);

test('the exit code of an API does not count', () => {
  expect(ended('completed', 0, { kind: 'api' })).toBe('completed');
  expect(ended('failed', 0, { kind: 'api' })).toBe('error');
});
